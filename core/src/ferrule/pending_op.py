"""An operation on its way into a session, and whoever waits for it to be taken."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import anyio

    from ferrule_hookspecs.errors import FerruleError
    from ferrule_hookspecs.ops import Op


class PendingOp:
    """An operation in the queue of a session."""

    __slots__ = ("_error", "_taken", "op", "turn_id")

    def __init__(self, op: Op, taken: anyio.Event | None = None) -> None:
        self.op = op
        self.turn_id = ""
        self._taken = taken
        self._error: FerruleError | None = None

    @property
    def is_awaited(self) -> bool:
        """Whether anybody hears of a refusal."""
        return self._taken is not None

    def end(self, turn_id: str) -> None:
        """It was taken, and began or joined a turn."""
        self.turn_id = turn_id
        if self._taken is not None:
            self._taken.set()

    def fail(self, error: FerruleError) -> None:
        """It was refused."""
        self._error = error
        if self._taken is not None:
            self._taken.set()

    async def answer(self) -> None:
        """Wait until it is taken; raises what refused it."""
        if self._taken is not None:
            await self._taken.wait()
        if self._error is not None:
            raise self._error
