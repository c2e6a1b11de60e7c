"""The web server of transports that speak HTTP; installed by the extra `http`."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Final, cast

import anyio
import uvicorn

from ferrule_gate.http_socket import HttpSocket

if TYPE_CHECKING:
    import asyncio
    import socket
    from collections.abc import Callable, Generator

_GRACE_S: Final = 2
_IDLE_SOCKET_S: Final = 30


class WebServer(uvicorn.Server):
    """The library's, which leaves signals to the host and says when it is up.

    Attributes:
        is_up: Set as soon as requests are taken.
    """

    def __init__(
        self,
        app: Any,  # noqa: ANN401 -- two spellings of ASGI
        *,
        protocol: Callable[..., asyncio.Protocol] | None = None,
        most_sockets: int | None = None,
    ) -> None:
        """Serve an application, by a plain `HttpSocket` where no protocol is given."""
        super().__init__(
            uvicorn.Config(
                app,
                http=cast("type[asyncio.Protocol]", protocol or HttpSocket),
                ws="none",
                lifespan="off",
                interface="asgi3",
                log_config=None,
                log_level="error",
                access_log=False,
                proxy_headers=False,
                server_header=False,
                limit_concurrency=most_sockets,
                timeout_keep_alive=_IDLE_SOCKET_S,
                timeout_graceful_shutdown=_GRACE_S,
            )
        )
        self.is_up = anyio.Event()

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Take none."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and say so."""
        await super().startup(sockets)
        self.is_up.set()

    async def run_shielded(self, listener: socket.socket) -> None:
        """Serve until `should_exit` is set: cancelling it would leave sockets open."""
        with anyio.CancelScope(shield=True):
            await self.serve([listener])
