"""Runs blocking plugin code in a thread that can be left behind.

A thread of anyio's pool is joined when the interpreter exits, so one hook that hangs for ever
would keep the process alive. The threads here are daemons: past its deadline a call is abandoned,
and nobody waits for it again. A thread that is done serves the next call. Used by the dispatcher.
"""

from __future__ import annotations

import asyncio
import threading
from contextvars import copy_context
from queue import SimpleQueue
from typing import TYPE_CHECKING, Final, Generic, TypeVar

import anyio

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


_MOST_IDLE: Final = 16
_idle: list[_Worker] = []  # appending to and popping off a list is safe among threads


class _Worker:
    """A thread that serves one call after the other."""

    def __init__(self) -> None:
        self._calls: SimpleQueue[Callable[[], None]] = SimpleQueue()
        threading.Thread(target=self._serve, name="ferrule plugin call", daemon=True).start()

    def take(self, call: Callable[[], None]) -> None:
        """Run a call in the thread; none must be running there."""
        self._calls.put(call)

    def _serve(self) -> None:
        while True:
            self._calls.get()()
            if len(_idle) >= _MOST_IDLE:
                return
            _idle.append(self)


def _worker() -> _Worker:
    try:
        return _idle.pop()
    except IndexError:
        return _Worker()


class AbandonableCall(Generic[T]):
    """One call in a thread that serves nobody else meanwhile."""

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
        """Run it and await its result; cancelling leaves the thread behind."""
        done = anyio.Event()
        loop = asyncio.get_running_loop()
        context = copy_context()

        def work() -> None:
            try:
                self._result = context.run(self._function)
            except BaseException as error:  # noqa: BLE001 -- handed to the awaiting side
                self._error = error
            self._finished.set()
            try:
                loop.call_soon_threadsafe(done.set)
            except RuntimeError:  # the event loop has ended; nobody waits any more
                return

        _worker().take(work)
        await done.wait()
        if isinstance(self._error, Exception):
            raise self._error
        if self._error is not None:  # such as SystemExit, which would end the host
            raise RuntimeError(f"it raised {type(self._error).__name__}") from self._error
        return self._result  # pyright: ignore[reportReturnType] -- set, as there was no error
