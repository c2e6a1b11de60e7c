"""Runs the web server on a listening socket until it is cancelled."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import anyio

from ferrule_gate.web_server import WebServer
from ferrule_http.app import Application
from ferrule_http.clients import Clients
from ferrule_http.socket_protocol import SocketProtocol, Sockets

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

    from ferrule_gate.gate import Gate
    from ferrule_hookspecs.serving import Server
    from ferrule_http.settings import Settings


async def serve_on(
    listener: socket.socket,
    server: Server,
    gate: Gate,
    settings: Settings,
    ready: Callable[[], None],
) -> None:
    """Serve until cancelled; streams of clients end then."""
    async with anyio.create_task_group() as group:
        clients = Clients(server, settings, group)
        app = Application(clients, settings).behind(gate)
        protocol = functools.partial(SocketProtocol, Sockets(settings.limits))
        web = WebServer(app, protocol=protocol)
        group.start_soon(web.run_shielded, listener)
        try:
            await web.is_up.wait()
            ready()
            await anyio.sleep_forever()
        finally:
            web.should_exit = True
