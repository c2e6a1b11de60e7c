"""A client over lines of text: between the bytes of a transport and the protocol's own streams."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import (
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from mcp_types import RequestId

    from ferrule_mcp_server.server import McpServer

MOST: Final = 128
"""Messages that wait in either direction, and requests under way."""
_OVERLOADED: Final = -32001
_DRAIN_S: Final = 10.0
_GONE: Final = (anyio.BrokenResourceError, anyio.ClosedResourceError)


class McpConnection:
    """One client; satisfies the contract's `Connection`."""

    def __init__(self, server: McpServer) -> None:
        self._server = server
        self._to_server, self._taken = anyio.create_memory_object_stream[
            SessionMessage | Exception
        ](MOST)
        self._sent, self._to_client = anyio.create_memory_object_stream[SessionMessage](MOST)
        self._refusals = self._sent.clone()
        self._under_way: set[RequestId] = set()
        self._quick: set[RequestId] = set()
        self._answered = anyio.Event()
        self._scope = anyio.CancelScope()
        self._ended = anyio.Event()

    @property
    def waiting(self) -> int:
        """How many messages wait to be read by the client."""
        return self._to_client.statistics().current_buffer_used

    async def run(self) -> None:
        """Speak the protocol until the client is gone."""
        try:
            with self._scope:
                await self._server.speak(self._taken, self._sent)
        finally:
            self._refusals.close()
            self._ended.set()

    async def receive(self, message: bytes) -> None:
        """Take one message; waits while much is under way, as nothing is dropped."""
        try:
            taken = jsonrpc_message_adapter.validate_json(message, by_name=False)
        except ValidationError:
            await self._refuse(None, PARSE_ERROR, "Parse error: not a JSON-RPC message")
            return
        if isinstance(taken, JSONRPCRequest):
            if len(self._under_way) >= MOST:
                text = f"{MOST} requests are under way already; send this one again later"
                await self._refuse(taken.id, _OVERLOADED, text)
                return
            self._under_way.add(taken.id)
            if taken.method != "tools/call":
                self._quick.add(taken.id)
        elif isinstance(taken, JSONRPCNotification) and taken.method == "notifications/cancelled":
            self._settle((taken.params or {}).get("requestId"))
        with suppress(*_GONE):
            await self._to_server.send(SessionMessage(taken))

    async def messages(self) -> AsyncIterator[bytes]:
        """Yield what the client is sent."""
        with suppress(anyio.ClosedResourceError):
            async for sent in self._to_client:
                message = sent.message
                text = message.model_dump_json(by_alias=True, exclude_unset=True)
                yield text.encode()
                if isinstance(message, JSONRPCResponse | JSONRPCError):
                    self._settle(message.id)

    async def drain(self) -> None:
        """Wait a moment until what takes no turn of a thread is answered."""
        with anyio.move_on_after(_DRAIN_S):
            while self._quick:
                self._answered = anyio.Event()
                await self._answered.wait()

    async def aclose(self) -> None:
        """The client is gone: interrupt what it has called for."""
        self._to_client.close()
        self._to_server.close()
        self._scope.cancel()
        await self._ended.wait()

    async def _refuse(self, id_: RequestId | None, code: int, message: str) -> None:
        error = JSONRPCError(jsonrpc="2.0", id=id_, error=ErrorData(code=code, message=message))
        with suppress(*_GONE):
            await self._refusals.send(SessionMessage(error))

    def _settle(self, id_: object) -> None:
        self._under_way.discard(id_)  # pyright: ignore[reportArgumentType] -- others are not in it
        self._quick.discard(id_)  # pyright: ignore[reportArgumentType]
        self._answered.set()
