"""Serving a kernel to clients: what is spoken (servers) and what carries it (transports).

A server speaks a protocol, such as the app-server's JSON-RPC; a transport carries its messages,
such as lines on stdin or frames of a WebSocket. Neither knows the other: a transport hands over the
bytes of one message and sends the bytes it is given. Slots `ferrule.servers` and
`ferrule.transports`; both are constructed with a `PluginContext`.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from ferrule_hookspecs.errors import FerruleError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
    from contextlib import AbstractAsyncContextManager

    from ferrule_hookspecs.host import Config, ConfigRequest, Kernel

MESSAGE_LIMIT: Final = 128 * 1024 * 1024
"""Most bytes of one message; a transport refuses a longer one without reading it whole."""


class Peer(NamedTuple):
    """Who is at the other end.

    Attributes:
        transport: Name of the transport.
        address: Where it connects from, for messages and logs; may be empty.
    """

    transport: str
    address: str = ""


class Connection(Protocol):
    """One client of a server."""

    async def receive(self, message: bytes) -> None:
        """Take one message as it came, valid or not.

        Waits while the client has too much under way: a transport that awaits this before it reads
        on slows the client down and drops nothing. Calls must not overlap.
        """
        ...

    def messages(self) -> AsyncIterator[bytes]:
        """Messages for the client, one JSON text each without a line end; ends when it is closed.

        The queue behind it is bounded: where the reader is slow, deltas are merged, and what never
        may be lost waits.
        """
        ...

    async def drain(self) -> None:
        """Nothing comes any more: wait a moment until what was asked is answered and sent."""
        ...

    async def aclose(self) -> None:
        """The client is gone: withdraw it everywhere; its threads go on."""
        ...


class Server(Protocol):
    """Speaks a protocol with any number of clients."""

    def connect(self, peer: Peer) -> Connection:
        """Take a new client; raises `FerruleError` where there are too many."""
        ...


class ServerDriver(Protocol):
    """Makes servers. Slot `ferrule.servers`."""

    name: str

    def open(self, kernel: Kernel, request: ConfigRequest) -> AbstractAsyncContextManager[Server]:
        """Serve a kernel until the block is left; threads are closed then.

        Args:
            kernel: The running kernel.
            request: How configurations are read where a client says nothing else.
        """
        ...


class Endpoint(NamedTuple):
    """Where a transport listens.

    Attributes:
        url: Such as `stdio://`, `unix:///run/f.sock`, `ws://127.0.0.1:0`, `http://127.0.0.1:0`.
        options: What the command line said for it, such as `ws-auth` and `ws-token-file`.
    """

    url: str
    options: Mapping[str, str] = MappingProxyType({})


class Transport(Protocol):
    """Carries messages. Slot `ferrule.transports`; `context.settings` is `[transports.NAME]`."""

    name: str

    async def serve(self, server: Server, endpoint: Endpoint, ready: Callable[[str], None]) -> None:
        """Serve until cancelled, or until there can be no more clients.

        Args:
            server: Whom clients talk to.
            endpoint: Where to listen.
            ready: Called once with the real URL when clients may connect.

        Raises:
            FerruleError: It cannot listen there, or it would be open to strangers.
        """
        ...


class RpcError(FerruleError):
    """A request cannot be answered.

    Attributes:
        code: JSON-RPC error code.
        data: What a client may read beside the message.
    """

    def __init__(
        self, message: str, code: int = -32600, data: Mapping[str, object] | None = None
    ) -> None:
        """Keep code and data beside the message."""
        super().__init__(message)
        self.code = code
        self.data = data


class RpcClient(Protocol):
    """The client that called a method; equal, and of one hash, in all its calls.

    Attributes:
        name: What it calls itself.
        experimental: Whether it asked for experimental methods and fields.
    """

    name: str
    experimental: bool

    def notify(self, method: str, params: Mapping[str, object]) -> None:
        """Send this client a notification."""
        ...

    async def room(self) -> None:
        """Wait while the client reads more slowly than it is told things."""
        ...

    def start_soon(self, work: Callable[[], Awaitable[None]]) -> None:
        """Have something done beside the calls, until it ends or the client is gone."""
        ...

    def on_close(self, callback: Callable[[], Awaitable[None]]) -> None:
        """Have something ended when the client is gone."""
        ...


def _at_once(step: Callable[[], None]) -> None:
    step()


class RpcCall(NamedTuple):
    """One call of a method.

    Attributes:
        params: The parameters, validated where the method names a type for them.
        client: Who called.
        kernel: The running kernel.
        config: The server's effective configuration as it is now.
        broadcast: Sends a notification to every client.
        request: How the server reads configurations where a client says nothing else.
        after_reply: Has a step taken once the reply is out, such as telling what it has changed;
            only while the call is being answered.
    """

    params: Mapping[str, object]
    client: RpcClient
    kernel: Kernel
    config: Config
    broadcast: Callable[[str, Mapping[str, object]], None]
    request: ConfigRequest
    after_reply: Callable[[Callable[[], None]], None] = _at_once


class RpcMethod(NamedTuple):
    """A method that a plugin adds to servers that speak JSON-RPC.

    Attributes:
        name: Such as `account/read`; unique.
        handler: Answers a call with its result, or raises `RpcError` or any `FerruleError`.
        params: A `TypedDict` of the parameters; None takes anything, nothing included.
        experimental: Whether a client must have asked for experimental methods.
        result: A `TypedDict` of the result, for the published schema.
        notifications: What it may send, with a `TypedDict` of the parameters; for the schema too.
    """

    name: str
    handler: Callable[[RpcCall], Awaitable[Mapping[str, object]]]
    params: type | None = None
    experimental: bool = False
    result: type | None = None
    notifications: Mapping[str, type] = MappingProxyType({})
