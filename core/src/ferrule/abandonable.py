"""Runs blocking plugin code in a thread that can be left behind.

A thread of anyio's pool is joined when the interpreter exits, so one hook that hangs for ever
would keep the process alive. The threads here are daemons: past its deadline a call is abandoned,
and nobody waits for it again. Called by the dispatcher.
"""

from __future__ import annotations

import threading
from contextvars import copy_context
from typing import TYPE_CHECKING, Generic, TypeVar

import anyio
import anyio.from_thread
import anyio.lowlevel

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


class AbandonableCall(Generic[T]):
    """One call in a thread of its own."""

    def __init__(self, function: Callable[[], T]) -> None:
        """Start nothing yet."""
        self._function = function
        self._result: T | None = None
        self._error: BaseException | None = None
        self._finished = threading.Event()

    @property
    def is_running(self) -> bool:
        """Whether the thread is still busy, perhaps long after everybody left."""
        return not self._finished.is_set()

    async def run(self) -> T:
        """Start the thread and await its result; cancelling leaves the thread behind."""
        done = anyio.Event()
        token = anyio.lowlevel.current_token()
        context = copy_context()

        def work() -> None:
            try:
                self._result = context.run(self._function)
            except BaseException as error:  # noqa: BLE001 -- handed to the awaiting side
                self._error = error
            self._finished.set()
            try:
                anyio.from_thread.run_sync(done.set, token=token)
            except RuntimeError:  # the event loop has ended; nobody waits any more
                return

        threading.Thread(target=work, name="ferrule plugin call", daemon=True).start()
        await done.wait()
        if isinstance(self._error, Exception):
            raise self._error
        if self._error is not None:  # such as SystemExit, which would end the host
            raise RuntimeError(f"it raised {type(self._error).__name__}") from self._error
        return self._result  # pyright: ignore[reportReturnType] -- set, as there was no error
