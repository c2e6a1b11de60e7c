"""One client: messages it posts go to the server in order, the server's go into its log."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

import anyio

from ferrule_gate.throttle import Throttle
from ferrule_http.replay import ReplayLog

if TYPE_CHECKING:
    from ferrule_hookspecs.serving import Connection
    from ferrule_http.settings import Settings

_GONE_S: Final = 5
_MOST_WAITING: Final = 32
"""Messages that may wait for the server to take them."""

_log = logging.getLogger("ferrule.http")


class GoneError(Exception):
    """The client was closed meanwhile."""


class Client:
    """A connection of the server, as HTTP requests reach it."""

    def __init__(self, connection: Connection, settings: Settings) -> None:
        self.log = ReplayLog(settings)
        self.throttle = Throttle(settings.requests_per_second)
        self._connection = connection
        self._idle_s = settings.idle_timeout_s
        self._waiting = 0
        self._ended = anyio.Event()
        self._last_seen = anyio.current_time()
        # Without a buffer: a request is answered when the server has taken the message over.
        self._inbox, self._posted = anyio.create_memory_object_stream[bytes](0)

    @property
    def is_busy(self) -> bool:
        """Whether it has posted as much as may wait."""
        return self._waiting >= _MOST_WAITING

    def touch(self) -> None:
        """Note that it was heard of."""
        self._last_seen = anyio.current_time()

    async def post(self, message: bytes) -> None:
        """Hand a message to the server; raises `GoneError` where the client was closed."""
        self.touch()
        self._waiting += 1
        try:
            await self._inbox.send(message)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError) as error:
            raise GoneError from error
        finally:
            self._waiting -= 1
            self.touch()

    def close(self) -> None:
        """Let it go."""
        self._ended.set()

    async def run(self) -> None:
        """Carry its messages until it is closed, is gone, or the server lets it go."""
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self._receive)
                group.start_soon(self._send)
                group.start_soon(self._watch)
                await self._ended.wait()
                group.cancel_scope.cancel()
        except Exception:  # noqa: BLE001 -- a fault at one client must not end the others
            _log.exception("a client of the http transport ended with a fault")
        finally:
            self._posted.close()
            self._inbox.close()
            self.log.close()
            with anyio.move_on_after(_GONE_S, shield=True):
                await self._connection.aclose()

    async def _receive(self) -> None:
        async for message in self._posted:
            await self._connection.receive(message)

    async def _send(self) -> None:
        async for message in self._connection.messages():
            await self.log.append(message)
        self.close()

    async def _watch(self) -> None:
        """Let it go when nothing was heard of it for too long."""
        while True:
            if self.log.is_read:
                self.touch()
            left = self._last_seen + self._idle_s - anyio.current_time()
            if left <= 0:
                self.close()
                return
            await anyio.sleep(left)
