"""Tells clients what a turn changed in the workspace, where the session's client wants to know."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import anyio

if TYPE_CHECKING:
    from ferrule.session_parts import SessionParts

_HOOK: Final = "ferrule_turn_diff"


class TurnDiff:
    """The diff of one turn: from its first call that may change something to its end."""

    def __init__(self, parts: SessionParts, turn_id: str) -> None:
        self._parts = parts
        self._info = parts.turn_info(turn_id)
        self._is_wanted = parts.wants_diff and bool(parts.hooks.serving(_HOOK))
        self._marked: anyio.Event | None = None
        self._told = ""

    async def mark(self) -> None:
        """Have the workspace as it is taken for the beginning; only the first time."""
        if not self._is_wanted:
            return
        if self._marked is None:
            self._marked = anyio.Event()
            try:
                await self._ask()
            finally:
                self._marked.set()
        await self._marked.wait()

    async def update(self) -> None:
        """Tell the diff where it is another one than before."""
        if self._marked is None or not self._marked.is_set():
            return
        diff = await self._ask()
        if diff is not None and diff != self._told:
            self._told = diff
            info = self._info
            self._parts.recorder.emit(
                {
                    "method": "turn/diff/updated",
                    "params": {"threadId": info.thread_id, "turnId": info.turn_id, "diff": diff},
                }
            )

    async def _ask(self) -> str | None:
        answers = await self._parts.hooks.gather(
            _HOOK, turn=self._info, context=self._parts.context
        )
        return next((answer for _, answer in answers if isinstance(answer, str)), None)
