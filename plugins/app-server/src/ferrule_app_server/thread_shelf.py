"""The open threads of a server: opened once, shared by clients, put away when nobody is left."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

import anyio

from ferrule_app_server.live_thread import LiveThread
from ferrule_hookspecs.errors import FerruleError
from ferrule_hookspecs.serving import RpcError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

    from ferrule_app_server.connection import ClientConnection
    from ferrule_app_server.server import AppServer
    from ferrule_hookspecs.host import Session

_LOOK_S: Final = 60.0


class ThreadShelf:
    """Open threads by id."""

    def __init__(self, server: AppServer, unload_after_s: float) -> None:
        self._server = server
        self._unload_after_s = unload_after_s
        self._threads: dict[str, LiveThread] = {}
        self._held: dict[str, anyio.Event] = {}

    def __iter__(self) -> Iterator[LiveThread]:
        return iter(list(self._threads.values()))

    def get(self, thread_id: str) -> LiveThread | None:
        """Return an open thread."""
        return self._threads.get(thread_id)

    async def settled(self, thread_id: str) -> LiveThread | None:
        """Return an open thread; one that is being closed is waited for, and is none."""
        while thread_id in self._held:
            await self._held[thread_id].wait()
        thread = self._threads.get(thread_id)
        if thread is not None and thread.is_closing:
            await thread.closed.wait()
            return None
        return thread

    @asynccontextmanager
    async def hold(self, thread_id: str) -> AsyncIterator[None]:
        """Keep others from opening a thread or putting it away; one client at a time."""
        while thread_id in self._held:
            await self._held[thread_id].wait()
        released = self._held[thread_id] = anyio.Event()
        try:
            yield
        finally:
            del self._held[thread_id]
            released.set()

    def require(self, thread_id: str) -> LiveThread:
        """Return an open thread.

        Raises:
            RpcError: It is not open.
        """
        check_id(thread_id)
        thread = self._threads.get(thread_id)
        if thread is None:
            raise RpcError(f"thread not found: {thread_id}")
        return thread

    async def open(
        self, thread_id: str, opens: Callable[[], Awaitable[Session]], stored_turns: int
    ) -> LiveThread:
        """Open a stored thread, or return it where another client opens it already."""
        async with self.hold(thread_id):
            return self._threads.get(thread_id) or self.add(await opens(), stored_turns)

    def add(self, session: Session, stored_turns: int) -> LiveThread:
        """Keep a session; its events are passed on from the next turn of the loop on."""
        thread = LiveThread(self._server, session, stored_turns=stored_turns)
        self._threads[thread.id] = thread
        self._server.start(thread.run)
        return thread

    def remove(self, thread: LiveThread) -> None:
        """Forget a thread that is closed."""
        if self._threads.get(thread.id) is thread:
            del self._threads[thread.id]

    def forget(self, connection: ClientConnection) -> None:
        """A client is gone; threads go on."""
        for thread in self:
            thread.leave(connection)

    async def watch(self) -> None:
        """Close threads that nobody has followed for long."""
        while True:
            await anyio.sleep(min(_LOOK_S, self._unload_after_s / 2))
            for thread in self:
                if thread.lonely_s >= self._unload_after_s and not thread.is_active:
                    await self._put_away(thread)

    async def aclose(self) -> None:
        """Close all threads at once."""
        async with anyio.create_task_group() as group:
            for thread in self:
                group.start_soon(self._put_away, thread)

    async def _put_away(self, thread: LiveThread) -> None:
        try:
            await thread.close()
        except FerruleError as error:
            self._server.report(str(error))


def check_id(thread_id: str, what: str = "thread") -> None:
    """Refuse what is no id, with the reason.

    Raises:
        RpcError: It is none.
    """
    text = thread_id.removeprefix("urn:uuid:").strip("{}")
    for at, letter in enumerate(text):
        if letter not in "0123456789abcdefABCDEF-":
            raise RpcError(
                f"invalid {what} id: invalid character: expected an optional prefix of"
                f" `urn:uuid:` followed by [0-9a-fA-F-], found `{letter}` at {at + 1}"
            )
    if len(text.replace("-", "")) != 32:
        raise RpcError(f"invalid {what} id: invalid length: expected 32 digits in {thread_id!r}")
