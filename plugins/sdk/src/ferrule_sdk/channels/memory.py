"""A server inside of this process: the kernel runs in the caller's event loop."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

from ferrule_hookspecs.host import ConfigRequest
from ferrule_hookspecs.serving import Peer
from ferrule_sdk.errors import ConnectionLostError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping
    from pathlib import Path

    from ferrule_hookspecs.serving import Connection

_CLOSED: Final = "the server in this process has closed the connection"


class MemoryChannel:
    """A channel to a server in this process."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._messages = connection.messages()

    async def send(self, message: bytes) -> None:
        """Hand the message over."""
        await self._connection.receive(message)

    async def receive(self) -> bytes:
        """Take the next message."""
        try:
            return await anext(self._messages)
        except StopAsyncIteration:
            raise ConnectionLostError(_CLOSED) from None


@asynccontextmanager
async def open_memory(
    home: Path | None, environ: Mapping[str, str], config: ConfigRequest
) -> AsyncGenerator[MemoryChannel]:
    """Start a kernel and a server for as long as the block lasts."""
    from ferrule.embedding import open_kernel

    async with open_kernel(home, environ) as kernel:
        read = kernel.config(config)
        driver = kernel.server(read, "app-server")
        async with driver.open(kernel, config) as server:
            connection = server.connect(Peer("in-process"))
            try:
                yield MemoryChannel(connection)
            finally:
                import anyio

                with anyio.CancelScope(shield=True):
                    await connection.aclose()
