"""The app-server: any number of clients on one kernel, and the threads they share."""

from __future__ import annotations

import sys
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, Final, cast

import anyio

from ferrule_app_server.connection import ClientConnection, notification
from ferrule_app_server.epilogue import after_reply
from ferrule_app_server.late_config import LateConfig
from ferrule_app_server.method_table import MethodTable, check_gate, is_published, parameters
from ferrule_app_server.questions import Questions
from ferrule_app_server.thread_shelf import ThreadShelf
from ferrule_hookspecs.errors import FerruleError, ThreadNotFoundError
from ferrule_hookspecs.serving import RpcCall, RpcError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Mapping, Sequence

    from anyio.abc import TaskGroup, TaskStatus

    from ferrule_app_server.envelope import Request
    from ferrule_app_server.limits import Limits
    from ferrule_app_server.live_thread import LiveThread
    from ferrule_hookspecs.host import Config, ConfigRequest, Kernel, Session
    from ferrule_hookspecs.serving import Peer, RpcMethod
    from ferrule_hookspecs.threads import Turn

_CLOSE_S: Final = 1.5


class AppServer:
    """Serves one kernel; satisfies the contract's `Server`."""

    def __init__(
        self, kernel: Kernel, request: ConfigRequest, home: str, limits: Limits, group: TaskGroup
    ) -> None:
        self.kernel = kernel
        self.request = request
        self.home = home
        self._limits = limits
        self.questions = Questions()
        self.threads = ThreadShelf(self, limits.unload_after_s)
        self._group = group
        self._methods = MethodTable(self._gather)
        self._connections: set[ClientConnection] = set()

    def connect(self, peer: Peer) -> ClientConnection:
        """Take a new client.

        Raises:
            FerruleError: There are too many.
        """
        if len(self._connections) >= self._limits.max_clients:
            raise FerruleError(
                f"{len(self._connections)} clients are connected, and no more are taken;"
                " `servers.app-server.max_clients` says how many"
            )
        connection = ClientConnection(self, peer)
        self._connections.add(connection)
        return connection

    def forget(self, connection: ClientConnection) -> None:
        """A client is gone."""
        self._connections.discard(connection)
        self.questions.forget(connection)
        self.threads.forget(connection)

    def start(self, work: Callable[..., Coroutine[object, object, object]], *args: Any) -> None:  # noqa: ANN401
        """Have something done beside what runs now; it must not raise."""
        self._group.start_soon(work, *args)

    def config(self) -> Config:
        """Read the configuration where no thread says otherwise."""
        return self.kernel.config(self.request)

    async def answer(self, client: ClientConnection, request: Request) -> Mapping[str, object]:
        """Answer a request.

        Raises:
            RpcError: It cannot be answered.
        """
        if not client.experimental and client.greeting is not None:
            check_gate(request)
        method = await self._methods.find(request.method)
        if client.greeting is None:
            raise RpcError("Not initialized")
        if method.experimental and not client.experimental and not is_published(request.method):
            raise RpcError(f"{request.method} requires experimentalApi capability")
        params = parameters(request, method)
        config = cast("Config", LateConfig(self.config))
        call = RpcCall(
            params, client, self.kernel, config, self.broadcast, self.request, after_reply
        )
        return await method.handler(call)

    def broadcast(self, method: str, params: Mapping[str, object]) -> None:
        """Tell every client."""
        self.tell_all(method, params, ())

    def tell_all(
        self,
        method: str,
        params: Mapping[str, object],
        followers: Collection[ClientConnection],
    ) -> None:
        """Tell every client; of one thread's status only the last, where nobody follows it."""
        message = notification(method, params)
        for connection in self._connections:
            if not connection.takes(method):
                continue
            if connection in followers or method != "thread/status/changed":
                connection.outbox.put(message)
                if connection.outbox.is_overrun:
                    self.report(f"a client over {connection.peer.transport} reads nothing; dropped")
                    connection.outbox.abandon()
            else:
                connection.outbox.put_latest((method, params["threadId"]), message)

    def stored_turns(self, thread_id: str) -> Sequence[Turn]:
        """Read the turns of a thread; none where nothing is stored yet."""
        try:
            return self.kernel.threads.turns(thread_id)
        except ThreadNotFoundError:
            return ()

    def adopt(self, session: Session) -> None:
        """Take in a thread that works for an open one; who follows that one follows both."""
        thread_id = session.thread["id"]
        live = self.threads.add(session, len(self.stored_turns(thread_id)))
        parent = self.threads.get(str(session.thread.get("parentThreadId")))
        if parent is not None:
            parent.share(live)
        self.broadcast("thread/status/changed", {"threadId": thread_id, "status": live.status})

    def closed(self, thread: LiveThread) -> None:
        """A thread's session is closed."""
        self.threads.remove(thread)

    def report(self, message: str) -> None:
        """Tell whoever runs the server."""
        with suppress(OSError, ValueError):  # whoever runs it may have closed stderr
            sys.stderr.write(f"{message}\n")

    def report_fault(self, method: str, error: Exception) -> None:
        """Tell whoever runs the server about a handler that is broken."""
        self.report(f"{method} failed: {type(error).__name__}: {error}")

    async def drain(self) -> None:
        """Close every thread, what runs is interrupted and stored; clients hear of it."""
        with anyio.move_on_after(_CLOSE_S, shield=True):
            await self.threads.aclose()

    async def _gather(self) -> Sequence[RpcMethod]:
        return await self.kernel.rpc_methods(self.config())


@asynccontextmanager
async def serving(
    kernel: Kernel, request: ConfigRequest, home: str, limits: Limits
) -> AsyncIterator[AppServer]:
    """Serve until the block is left; threads are closed then, also when it is cancelled."""
    workshop = _Workshop()
    async with anyio.create_task_group() as group:
        server = AppServer(kernel, request, home, limits, await group.start(workshop.run))
        server.start(server.threads.watch)
        try:
            yield server
        finally:
            await server.drain()
            workshop.close()


class _Workshop:
    """Where a server's work is done: out of reach of what cancels the server, until it is closed.

    Otherwise what clients are to hear of the end would end with it.
    """

    def __init__(self) -> None:
        self._scope = anyio.CancelScope(shield=True)

    async def run(self, *, task_status: TaskStatus[TaskGroup]) -> None:
        with self._scope:
            async with anyio.create_task_group() as group:
                task_status.started(group)
                await anyio.sleep_forever()

    def close(self) -> None:
        self._scope.cancel()
