"""A server that speaks next to nothing, to try transports with.

It answers `{"id": 1, "method": "echo", "params": X}` with `{"id": 1, "result": X}`. The methods
`flood`, `close` and `fail` do what their names say; everything else is ignored. What it keeps for a
client is bounded, as the contract asks.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import anyio

from ferrule_hookspecs.errors import FerruleError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from ferrule_hookspecs.serving import Peer

_KEPT: Final = 8


class EchoConnection:
    """One client. Its messages wait while the client has not read the last ones."""

    def __init__(self, server: EchoServer, peer: Peer) -> None:
        self.peer = peer
        self.produced = 0
        self._server = server
        self._busy = False
        self._send, self._read = anyio.create_memory_object_stream[bytes](_KEPT)

    async def receive(self, message: bytes) -> None:
        """Do what a message asks for; calls must not overlap."""
        assert not self._busy, "a transport let two calls of receive overlap"
        self._busy = True
        try:
            await self._take(message)
        finally:
            self._busy = False

    async def messages(self) -> AsyncIterator[bytes]:
        """Give out what was produced."""
        async for message in self._read:
            yield message

    async def drain(self) -> None:
        """Nothing is under way that `receive` has not done."""

    async def aclose(self) -> None:
        """Forget the client."""
        self._server.clients.discard(self)
        self._send.close()
        self._read.close()
        self._server.left.set()

    async def _take(self, message: bytes) -> None:
        self._server.received += 1
        try:
            request = json.loads(message)
            method, params = request["method"], request.get("params")
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return
        if method == "echo":
            await self._give({"id": request.get("id"), "result": params})
        elif method == "flood":
            for number in range(params["count"]):
                filler = "x" * params["size"]
                await self._give({"method": "flooded", "params": {"n": number, "x": filler}})
        elif method == "close":
            self._send.close()
        elif method == "fail":
            raise RuntimeError("asked to fail")

    async def _give(self, message: dict[str, Any]) -> None:
        try:
            await self._send.send(json.dumps(message, separators=(",", ":")).encode())
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            return
        self.produced += 1


class EchoServer:
    """Serves any number of clients, or `most` of them.

    Attributes:
        clients: Those that are connected.
        received: Messages that came in from all of them.
        left: Set when a client leaves; see `clients_changed`.
    """

    def __init__(self, most: int = 1_000_000) -> None:
        self.clients: set[EchoConnection] = set()
        self.received = 0
        self.left = anyio.Event()
        self._most = most

    def connect(self, peer: Peer) -> EchoConnection:
        """Take a new client."""
        if len(self.clients) >= self._most:
            raise FerruleError("this server has all the clients it can bear")
        connection = EchoConnection(self, peer)
        self.clients.add(connection)
        return connection

    async def until_nobody_is_left(self) -> None:
        """Wait until every client has been forgotten."""
        while self.clients:
            await self.clients_changed()

    async def clients_changed(self) -> None:
        """Wait until the next client leaves."""
        self.left = anyio.Event()
        await self.left.wait()
