"""One client: its handshake, its requests under way, what it is told.

A `Connection` to transports, an `RpcClient` to methods.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, cast

import anyio
from anyio.lowlevel import checkpoint

from ferrule_app_server import envelope
from ferrule_app_server.catalogue import NOTIFICATIONS
from ferrule_app_server.envelope import INVALID, OVERLOADED, Note, Refusal, Request, Response
from ferrule_app_server.epilogue import Epilogue
from ferrule_app_server.handshake import Greeting, greet
from ferrule_app_server.outbox import Outbox
from ferrule_hookspecs.errors import FerruleError
from ferrule_hookspecs.serving import RpcError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

    from ferrule_app_server.envelope import Message, RequestId
    from ferrule_app_server.server import AppServer
    from ferrule_hookspecs.serving import Peer

_AT_ONCE: Final = 64
"""Requests of one client that are begun before it is read on."""
_PATIENCE_S: Final = 0.05
"""Those that take longer than this, such as commands, do not keep it from being read on."""
_DRAIN_S: Final = 0.5
_MOST: Final = 2048
"""More than this under way are refused."""
_TURNS: Final = 16
"""Messages of one client that are taken before others get a turn."""
_PUBLISHED: Final = frozenset(NOTIFICATIONS)
_OVERLOAD: Final = {"codexErrorInfo": "server_overloaded"}


class ClientConnection:
    """One client of an `AppServer`."""

    def __init__(self, server: AppServer, peer: Peer) -> None:
        self.server = server
        self.peer = peer
        self.greeting: Greeting | None = None
        self.name = ""
        self.experimental = False
        self.outbox = Outbox()
        self._under_way: set[RequestId] = set()
        self._slow: set[RequestId] = set()
        self._done = anyio.Event()
        self._since_turn = 0
        self._closing: list[Callable[[], Awaitable[None]]] = []
        self.is_gone = False
        self._works: set[anyio.CancelScope] = set()

    async def receive(self, message: bytes) -> None:
        """Take one message; waits while too much of this client is under way."""
        incoming = envelope.read(message)
        match incoming:
            case Request():
                await self._take(incoming)
            case Response():
                self.server.questions.answer(self, incoming)
            case Refusal():
                self.outbox.put(envelope.error(incoming.id, incoming.code, incoming.message))
            case Note():
                pass  # `initialized` is the only one there is, and nothing waits for it
        self._since_turn += 1
        if self.outbox.is_full:
            await self.outbox.room()
        elif self._since_turn >= _TURNS:
            self._since_turn = 0
            await checkpoint()

    def messages(self) -> AsyncIterator[bytes]:
        """Messages for the client."""
        return self.outbox.read()

    async def drain(self) -> None:
        """Wait a moment until what was asked is answered and sent."""
        with anyio.move_on_after(_DRAIN_S):
            while self._under_way:
                self._done = anyio.Event()
                await self._done.wait()
            await self.outbox.empty()

    async def aclose(self) -> None:
        """Withdraw the client everywhere; its threads go on."""
        self.outbox.abandon()
        for scope in list(self._works):
            scope.cancel()
        self.server.forget(self)
        self.is_gone = True
        await self._end_all()

    async def _end_all(self) -> None:
        with anyio.CancelScope(shield=True):
            while self._closing:
                try:
                    await self._closing.pop()()
                except Exception as error:  # noqa: BLE001 -- the next is to be ended all the same
                    self.server.report_fault("closing a connection", error)

    def notify(self, method: str, params: Mapping[str, object]) -> None:
        """Send a notification, unless the client has no use for it."""
        if self.takes(method):
            self.outbox.put(notification(method, params))

    def takes(self, method: str) -> bool:
        """Whether the client is to hear of notifications of this name."""
        greeting = self.greeting
        if greeting is None or method in greeting.opted_out:
            return False
        return method in _PUBLISHED or greeting.wants_extensions

    async def room(self) -> None:
        """Wait while the client reads more slowly than it is told things."""
        await self.outbox.room()

    def on_close(self, callback: Callable[[], Awaitable[None]]) -> None:
        """Have something ended when the client is gone; at once where it is gone already."""
        self._closing.append(callback)
        if self.is_gone:
            self.server.start(self._end_all)

    def start_soon(self, work: Callable[[], Awaitable[None]]) -> None:
        """Have something done beside the calls, until it ends or the client is gone."""
        self.server.start(self._until_gone, work)

    async def _until_gone(self, work: Callable[[], Awaitable[None]]) -> None:
        scope = anyio.CancelScope()
        self._works.add(scope)
        if self.is_gone:
            scope.cancel()
        try:
            with scope:
                await work()
        except Exception as error:  # noqa: BLE001 -- the server outlives what methods leave behind
            self.server.report(f"{type(error).__name__}: {error}")
        finally:
            self._works.discard(scope)

    async def _take(self, request: Request) -> None:
        if request.method == "initialize":
            self._initialize(request)
            return
        if request.id in self._under_way:
            self._refuse(request, f"Invalid request: id {request.id!r} is under way already")
            return
        if len(self._under_way) - len(self._slow) >= _AT_ONCE:
            await self._wait_for_room()
        if len(self._under_way) >= _MOST:
            reply = envelope.error(
                request.id, OVERLOADED, "Server overloaded; retry later.", _OVERLOAD
            )
            self.outbox.put(reply)
            return
        self._under_way.add(request.id)
        self.server.start(self._serve, request)

    async def _wait_for_room(self) -> None:
        """Wait until enough is done, or what is under way turns out to be slow."""
        with anyio.move_on_after(_PATIENCE_S):
            while len(self._under_way) - len(self._slow) >= _AT_ONCE:
                self._done = anyio.Event()
                await self._done.wait()
            return
        self._slow = set(self._under_way)

    def _initialize(self, request: Request) -> None:
        if self.greeting is not None:
            self._refuse(request, "Already initialized")
            return
        try:
            self.greeting, reply = greet(request.params, self.server.home)
        except RpcError as error:
            self._refuse(request, str(error))
            return
        self.name, self.experimental = self.greeting.name, self.greeting.experimental
        self.outbox.put(envelope.result(request.id, reply))

    def _refuse(self, request: Request, message: str) -> None:
        self.outbox.put(envelope.error(request.id, INVALID, message))

    async def _serve(self, request: Request) -> None:
        epilogue = Epilogue()
        epilogue.begin()
        reply: Message = envelope.error(request.id, envelope.INTERNAL, "the server is closing")
        try:
            reply = await self._reply(request)
        finally:
            self._under_way.discard(request.id)
            self._slow.discard(request.id)
            self._done.set()
            self.outbox.put(reply, epilogue.run)

    async def _reply(self, request: Request) -> Message:
        try:
            return envelope.result(request.id, await self.server.answer(self, request))
        except RpcError as error:
            return envelope.error(request.id, error.code, str(error), error.data)
        except FerruleError as error:
            return envelope.error(request.id, INVALID, str(error))
        except OSError as error:  # a folder that cannot be read, a name that is too long
            text = f"{request.method}: {error.filename or ''}: {error.strerror or error}"
            return envelope.error(request.id, envelope.INTERNAL, text.replace(": : ", ": "))
        except Exception as error:  # noqa: BLE001 -- every request gets an answer
            self.server.report_fault(request.method, error)
            text = f"{request.method} failed: {type(error).__name__}: {error}"
            return envelope.error(request.id, envelope.INTERNAL, " ".join(text.split()))


def notification(method: str, params: Mapping[str, object]) -> Message:
    """Build a notification."""
    emitted_at = time.time_ns() // 1_000_000
    return {
        "method": method,
        "params": cast("object", params),
        "emittedAtMs": emitted_at,
    }
