"""What is done once the reply to a request was handed to the transport, or never will be."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

_CURRENT: Final[ContextVar[Epilogue]] = ContextVar("epilogue")


class Epilogue:
    """Steps that follow one reply, in the order in which they were added."""

    def __init__(self) -> None:
        self._steps: list[Callable[[], None]] = []

    def begin(self) -> None:
        """Collect what `after_reply` is told by the task that answers the request."""
        _CURRENT.set(self)

    def run(self) -> None:
        """Take the steps."""
        for step in self._steps:
            step()

    def add(self, step: Callable[[], None]) -> None:
        """Add a step."""
        self._steps.append(step)


def after_reply(step: Callable[[], None]) -> None:
    """Have something done once the reply to the request at hand is out."""
    _CURRENT.get().add(step)
