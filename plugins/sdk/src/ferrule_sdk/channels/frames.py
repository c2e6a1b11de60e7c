"""A running server behind a WebSocket, over TCP or a Unix socket: one JSON text a frame."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

from ferrule_sdk.channels.loopback import is_loopback
from ferrule_sdk.errors import ConnectionLostError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from websockets.asyncio.client import ClientConnection

_MESSAGE_LIMIT: Final = 128 * 1024 * 1024
_CLOSE_S: Final = 2.0


class FrameChannel:
    """A channel over a WebSocket."""

    def __init__(self, socket: ClientConnection, url: str) -> None:
        self._socket = socket
        self._url = url

    async def send(self, message: bytes) -> None:
        """Send a text frame."""
        from websockets.exceptions import ConnectionClosed

        try:
            await self._socket.send(message, text=True)
        except ConnectionClosed as error:
            raise self._lost(error) from None

    async def receive(self) -> bytes:
        """Wait for a frame."""
        from websockets.exceptions import ConnectionClosed

        try:
            return await self._socket.recv(decode=False)
        except ConnectionClosed as error:
            raise self._lost(error) from None

    def _lost(self, error: Exception) -> ConnectionLostError:
        return ConnectionLostError(f"the connection to {self._url} is lost: {error}")


@asynccontextmanager
async def open_frames(url: str, token: str | None) -> AsyncGenerator[FrameChannel]:
    """Connect to `ws://…`, `wss://…` or `unix://PATH` for as long as the block lasts.

    Raises:
        ConnectionLostError: Nobody answers there, or the server does not let us in.
    """
    import anyio
    from websockets.exceptions import InvalidStatus, WebSocketException

    try:
        socket = await _connect(url, token)
    except InvalidStatus as error:
        raise ConnectionLostError(_refused(url, error.response.status_code)) from None
    except (OSError, TimeoutError, WebSocketException) as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise ConnectionLostError(f"cannot connect to {url}: {reason}") from error
    try:
        yield FrameChannel(socket, url)
    finally:
        with anyio.CancelScope(shield=True):
            await socket.close()


async def _connect(url: str, token: str | None) -> ClientConnection:
    from websockets.asyncio.client import connect, unix_connect

    headers = {"Authorization": f"Bearer {token}"} if token else {}
    if url.startswith("unix:"):
        path = url.removeprefix("unix:").removeprefix("//")
        return await unix_connect(
            path,
            additional_headers=headers,
            max_size=_MESSAGE_LIMIT,
            close_timeout=_CLOSE_S,
            compression=None,
        )
    return await connect(
        url,
        additional_headers=headers,
        max_size=_MESSAGE_LIMIT,
        close_timeout=_CLOSE_S,
        proxy=None if is_loopback(url) else True,
    )


def _refused(url: str, status: int) -> str:
    if status == 401:
        return f"{url} does not let us in: the token is missing or wrong (HTTP 401)"
    return f"{url} does not speak the protocol of a Ferrule server (HTTP {status})"
