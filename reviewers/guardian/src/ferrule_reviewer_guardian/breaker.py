"""Ends a turn in which too much is refused: an agent that goes on trying does not learn."""

from __future__ import annotations

from collections import deque
from typing import Final

_IN_A_ROW: Final = 3
_WINDOW: Final = 50
_IN_WINDOW: Final = 10


class CircuitBreaker:
    """Counts refusals of one turn at a time."""

    def __init__(self) -> None:
        self._turn_id = ""
        self._refused: deque[bool] = deque(maxlen=_WINDOW)

    def note(self, turn_id: str, *, refused: bool) -> str:
        """Take down a decision; returns why the turn must end, or nothing."""
        if turn_id != self._turn_id:
            self._turn_id = turn_id
            self._refused.clear()
        self._refused.append(refused)
        if list(self._refused)[-_IN_A_ROW:] == [True] * _IN_A_ROW:
            return f"{_IN_A_ROW} actions in a row were refused"
        if sum(self._refused) >= _IN_WINDOW:
            return f"{_IN_WINDOW} of the last {len(self._refused)} actions were refused"
        return ""
