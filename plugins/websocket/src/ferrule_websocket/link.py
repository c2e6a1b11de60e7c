"""One socket. Bounds what the library leaves open: sockets at once, and answers to pings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from websockets.asyncio.server import ServerConnection
from websockets.frames import Frame, Opcode

if TYPE_CHECKING:
    import asyncio

    from websockets.protocol import Event

    from ferrule_websocket.door import Door

_READ_BYTES: Final = 32 * 1024
"""Read at a time: all messages in it are parsed in a row, 3 µs for a small one."""
_UNREAD_PONGS: Final = 256
"""Pings a client may send while it does not read: each is answered, and answers are kept."""


class Link(ServerConnection):
    """A connection of the library that a `Door` counts."""

    def __init__(self, door: Door, *args: Any, **options: Any) -> None:  # noqa: ANN401 -- the library's
        super().__init__(*args, **options)
        self._door = door
        self._is_client = False
        self._unread_pongs = 0

    @property
    def reached_address(self) -> str:
        """The address of ours that the client reached; empty on a unix socket."""
        return _host(self.local_address)

    @property
    def peer_address(self) -> str:
        """Where the client is; empty on a unix socket."""
        address = self.remote_address
        return f"{address[0]}:{address[1]}" if isinstance(address, tuple) else ""

    def count_as_client(self) -> None:
        """Take one of the places for clients, until the socket is closed."""
        self._is_client = True
        self._door.clients += 1

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Hang up at once where there are too many sockets already."""
        is_full = self._door.is_full
        self._door.sockets += 1
        super().connection_made(transport)
        if hasattr(transport, "max_size"):  # what the selector loops read at a time: 256 KiB
            setattr(transport, "max_size", _READ_BYTES)  # noqa: B010 -- it is in no stub
        if is_full:
            self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Give back what it took."""
        self._door.sockets -= 1
        self._door.clients -= self._is_client
        super().connection_lost(exc)

    def process_event(self, event: Event) -> None:
        """Hang up on a client that has pings answered and never reads the answers."""
        if isinstance(event, Frame) and event.opcode is Opcode.PING:
            self._unread_pongs = self._unread_pongs + 1 if self.paused else 0
            if self._unread_pongs > _UNREAD_PONGS:
                self.transport.abort()
                return
        super().process_event(event)


def _host(address: object) -> str:
    return str(address[0]) if isinstance(address, tuple) and address else ""  # pyright: ignore[reportUnknownArgumentType]
