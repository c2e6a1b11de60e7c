"""Carries messages between one WebSocket and the server, both ways, until either ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import anyio
from websockets.exceptions import ConnectionClosed, ProtocolError

from ferrule_hookspecs.errors import FerruleError
from ferrule_hookspecs.serving import Peer

if TYPE_CHECKING:
    from ferrule_hookspecs.serving import Connection, Server
    from ferrule_websocket.link import Link

_TRY_AGAIN: Final = 1013
_REASON_BYTES: Final = 120  # a close frame holds 123
_GONE_S: Final = 5
_TURN: Final = 16
"""Messages of one client in a row, before others have their turn."""


async def carry(link: Link, server: Server, transport: str) -> None:
    """Connect a client, and carry its messages until it is gone or the server lets it go."""
    try:
        connection = server.connect(Peer(transport, link.peer_address))
    except FerruleError as error:
        reason = str(error).encode()[:_REASON_BYTES].decode(errors="ignore")
        await link.close(_TRY_AGAIN, reason)
        return
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(_send, link, connection)
            group.start_soon(_receive, link, connection)
            await link.wait_closed()
            group.cancel_scope.cancel()
    finally:
        with anyio.move_on_after(_GONE_S, shield=True):
            await connection.aclose()


async def _send(link: Link, connection: Connection) -> None:
    """Send what there is; waits where the client does not read, so that nothing piles up here."""
    try:
        async for message in connection.messages():
            await link.send(message, text=True)
        await link.close()
    except ConnectionClosed:
        return


async def _receive(link: Link, connection: Connection) -> None:
    """Hand over text frames; binary ones mean nothing here."""
    count = 0
    try:
        while True:
            message = await link.recv()
            if isinstance(message, str):
                await connection.receive(message.encode())
            count += 1
            if count % _TURN == 0:
                await anyio.lowlevel.checkpoint()
    except (ConnectionClosed, ProtocolError):
        await link.close()
