"""Runs the web server on a listening socket until it is cancelled."""

from __future__ import annotations

import contextlib
import functools
from typing import TYPE_CHECKING, Any, Final, cast

import anyio
import uvicorn

from ferrule_http.app import Application
from ferrule_http.clients import Clients
from ferrule_http.socket_protocol import SocketProtocol, Sockets

if TYPE_CHECKING:
    import asyncio
    import socket
    from collections.abc import Callable, Generator

    from ferrule_gate.gate import Gate
    from ferrule_hookspecs.serving import Server
    from ferrule_http.settings import Settings

_GRACE_S: Final = 2
_IDLE_SOCKET_S: Final = 30


class _WebServer(uvicorn.Server):
    """The library's, which leaves signals to the host and says when it is up."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.is_up = anyio.Event()

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.is_up.set()

    async def run_shielded(self, listener: socket.socket) -> None:
        """Serve until `should_exit` is set: cancelling it would leave sockets open."""
        with anyio.CancelScope(shield=True):
            await self.serve([listener])


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
        web = _WebServer(_config(app, settings))
        group.start_soon(web.run_shielded, listener)
        try:
            await web.is_up.wait()
            ready()
            await anyio.sleep_forever()
        finally:
            web.should_exit = True


def _config(app: Any, settings: Settings) -> uvicorn.Config:  # noqa: ANN401 -- two spellings of ASGI
    protocol = functools.partial(SocketProtocol, Sockets(settings.limits))
    return uvicorn.Config(
        app,
        http=cast("type[asyncio.Protocol]", protocol),
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        log_level="error",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=_IDLE_SOCKET_S,
        timeout_graceful_shutdown=_GRACE_S,
    )
