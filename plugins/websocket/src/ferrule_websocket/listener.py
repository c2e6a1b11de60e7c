"""Serves WebSockets on a listening socket until it is cancelled."""

from __future__ import annotations

import functools
import logging
import socket
from typing import TYPE_CHECKING, Final, cast

import anyio
from websockets.asyncio.server import serve, unix_serve

from ferrule_gate.gate import GUARD_KEYS
from ferrule_gate.limits import Limits, limits_from, refuse_unknown
from ferrule_websocket.carrier import carry
from ferrule_websocket.door import Door
from ferrule_websocket.link import Link

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from websockets.asyncio.server import ServerConnection

    from ferrule_gate.gate import Gate
    from ferrule_hookspecs.serving import Server

_PING_S: Final = 30  # keeps what lies between awake; one that is slow to answer is not dropped
_CLOSE_S: Final = 2
_END_S: Final = 10


def read_settings(table: Mapping[str, object], where: str) -> Limits:
    """Read the limits of a transport; a key that means nothing is an error."""
    refuse_unknown(table, {*Limits._fields, *GUARD_KEYS}, where)
    return limits_from(table, where)


async def listen_on(
    listener: socket.socket,
    server: Server,
    gate: Gate,
    limits: Limits,
    ready: Callable[[], None],
) -> None:
    """Serve until cancelled; clients are then told that the server goes away."""
    door = Door(gate, limits)
    is_unix = listener.family != socket.AF_INET and listener.family != socket.AF_INET6
    transport = "unix" if is_unix else "websocket"

    async def handle(link: ServerConnection) -> None:
        if isinstance(link, Link):
            await carry(link, server, transport)

    serving = await (unix_serve if is_unix else serve)(
        handle,
        sock=listener,
        create_connection=cast("type[ServerConnection]", functools.partial(Link, door)),
        process_request=lambda link, request: (
            door.answer(link, request) if isinstance(link, Link) else None
        ),
        compression=None,
        server_header=None,
        open_timeout=limits.handshake_timeout_s,
        ping_interval=_PING_S,
        ping_timeout=None,
        close_timeout=_CLOSE_S,
        max_size=limits.max_message_bytes,
        logger=logging.getLogger("ferrule.websocket"),
    )
    try:
        ready()
        await anyio.sleep_forever()
    finally:
        with anyio.move_on_after(_END_S, shield=True):
            serving.close()
            await serving.wait_closed()
