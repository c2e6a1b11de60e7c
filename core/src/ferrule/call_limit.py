"""The deadline of one call of a plugin, which a machine that stands still does not use up.

Used by the dispatcher, for hooks and for the import that the first of them may have to wait for,
and for what is asked of a process of tools.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import contextmanager

import anyio

from ferrule.patience import steps


class CallLimit:
    """What ends a call when all of its time has passed in steps that the event loop saw pass.

    Attributes:
        seconds: How long the call may take.
    """

    def __init__(self, scope: anyio.CancelScope, seconds: float) -> None:
        self._scope = scope
        self._timer: asyncio.TimerHandle | None = None
        self.start(seconds)

    def start(self, seconds: float) -> None:
        """Begin anew, with another limit perhaps."""
        self.stop()
        self.seconds = seconds
        self._left = steps(seconds)
        self._step()

    def stop(self) -> None:
        """Let the call be."""
        if self._timer is not None:
            self._timer.cancel()

    def _step(self) -> None:
        if self._left:
            self._timer = asyncio.get_running_loop().call_later(self._left.pop(), self._step)
        else:
            self._scope.cancel()


@contextmanager
def call_limit(seconds: float) -> Generator[CallLimit]:
    """Cancel what is done in here once it takes too long, and go on behind it."""
    with anyio.CancelScope() as scope:
        limit = CallLimit(scope, seconds)
        try:
            yield limit
        finally:
            limit.stop()
