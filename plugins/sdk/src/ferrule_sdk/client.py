"""The library's front door: `Ferrule`."""

from __future__ import annotations

import os
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Final, TypeVar, cast, overload

import anyio

from ferrule import __version__
from ferrule_sdk.answering import Answering
from ferrule_sdk.channels.opening import is_local, opener, takes_config
from ferrule_sdk.errors import ConnectionLostError, ServerError
from ferrule_sdk.event_buffer import EventBuffer
from ferrule_sdk.places import absolute
from ferrule_sdk.rpc import Rpc
from ferrule_sdk.thread import Thread
from ferrule_sdk.thread_log import ThreadLog
from ferrule_sdk.tools import ClientTool

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping
    from types import TracebackType
    from typing import Self

    from anyio.abc import TaskGroup, TaskStatus
    from typing_extensions import Unpack

    from ferrule_hookspecs.events import Event, RequestResolved
    from ferrule_hookspecs.items import ThreadItem
    from ferrule_hookspecs.threads import Thread as ThreadFacts
    from ferrule_sdk.errors import CallbackError
    from ferrule_sdk.facts import ModelFacts
    from ferrule_sdk.options import FerruleOptions, ThreadOptions, Where
    from ferrule_sdk.rpc import Json, RequestId

    F = TypeVar("F", bound=Callable[..., object])

_PAGE: Final = 100
_THREAD_NAMES: Final = {
    "model": "model",
    "model_provider": "modelProvider",
    "sandbox": "sandbox",
    "approval_policy": "approvalPolicy",
    "approvals_reviewer": "approvalsReviewer",
    "base_instructions": "baseInstructions",
    "developer_instructions": "developerInstructions",
    "ephemeral": "ephemeral",
}


class Ferrule:
    """A connection to a Ferrule server, which by default runs inside of this process.

    Example:
        async with Ferrule() as f:
            thread = await f.thread()
            result = await thread.run("What does this project do?")
        print(result.text)
    """

    def __init__(self, **options: Unpack[FerruleOptions]) -> None:
        """Take the options; nothing is opened yet."""
        self._options = options
        self._state = _State(options)
        self._exit = AsyncExitStack()
        self._rpc: Rpc | None = None

    async def __aenter__(self) -> Self:
        """Open the channel and shake hands.

        Raises:
            ConnectionLostError: The server cannot be started or reached.
            FerruleError: The configuration or what is installed does not do.
        """
        if self._rpc is not None:
            raise ConnectionLostError("this Ferrule was opened before; make a new one")
        async with AsyncExitStack() as stack:
            group = await stack.enter_async_context(_background())
            rpc: Rpc = await group.start(self._serve)
            self._rpc = rpc
            await self._shake_hands(rpc)
            self._exit = stack.pop_all()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the channel; a server that was started here ends, with all that runs in it."""
        await self._exit.__aexit__(kind, error, traceback)

    async def thread(self, **options: Unpack[ThreadOptions]) -> Thread:
        """Open a new thread.

        Raises:
            ServerError: The server refuses it.
            ConnectionLostError: The server is gone.
        """
        params = self._thread_params(options)
        if self._state.answering.tools:
            params["dynamicTools"] = [t.spec for t in self._state.answering.tools.values()]
        return await self._open("thread/start", params)

    async def resume(self, thread_id: str, **options: Unpack[ThreadOptions]) -> Thread:
        """Go on with a thread that is stored, or open on the server already."""
        params = {"threadId": thread_id, **self._thread_params(options, is_new=False)}
        return await self._open("thread/resume", params)

    async def fork(self, thread_id: str, **options: Unpack[ThreadOptions]) -> Thread:
        """Open a new thread that begins with a copy of another."""
        params = {"threadId": thread_id, **self._thread_params(options, is_new=False)}
        return await self._open("thread/fork", params)

    async def threads(
        self,
        *,
        archived: bool = False,
        cwd: Where | None = None,
        search: str | None = None,
        limit: int | None = None,
    ) -> list[ThreadFacts]:
        """List stored threads, newest first, without their turns.

        Args:
            archived: List those that were put away, instead of the others.
            cwd: Only those that work there.
            search: Only those whose texts contain this.
            limit: At most so many.
        """
        params: dict[str, object] = {"archived": archived}
        if cwd is not None:
            params["cwd"] = absolute(cwd)
        if search is not None:
            params["searchTerm"] = search
        found = await self._pages("thread/list", params, limit)
        return cast("list[ThreadFacts]", found)

    async def models(self) -> list[ModelFacts]:
        """List the models that can be chosen."""
        return cast("list[ModelFacts]", await self._pages("model/list", {}, None))

    async def call(self, method: str, params: Mapping[str, object] | None = None) -> Json:
        """Call any method of the protocol.

        Raises:
            ServerError: The server refuses.
            ConnectionLostError: The server is gone.
        """
        return await self._connection.call(method, params)

    async def notifications(self) -> AsyncGenerator[Event]:
        """Read all that the server says by itself from now on, of every thread.

        Raises:
            ConnectionLostError: The server is gone.
        """
        buffer = EventBuffer()
        self._state.buffers.append(buffer)
        try:
            async for event in buffer.events():
                yield event
        finally:
            self._state.buffers.remove(buffer)

    @overload
    def tool(self, function: F) -> F: ...
    @overload
    def tool(self, *, name: str) -> Callable[[F], F]: ...
    def tool(self, function: F | None = None, *, name: str | None = None) -> F | Callable[[F], F]:
        """Let the model call a function in threads that are opened from now on; a decorator.

        Type hints describe its parameters and the docstring what it is for. It may be asynchronous;
        else it runs in a worker thread. What it returns goes to the model, as JSON if it is no
        text; what it raises does too.
        """

        def register(given: F) -> F:
            tool = ClientTool(given, name)
            self._state.answering.tools[tool.name] = tool
            return given

        return register if function is None else register(function)

    @property
    def _connection(self) -> Rpc:
        if self._rpc is None:
            raise ConnectionLostError("this Ferrule is not open: use `async with Ferrule() as f:`")
        return self._rpc

    async def _serve(self, *, task_status: TaskStatus[Rpc]) -> None:
        async with opener(self._options)() as channel:
            rpc = Rpc(channel, self._state)
            async with anyio.create_task_group() as group:
                self._state.begin(rpc, group)
                task_status.started(rpc)
                await rpc.run()
                group.cancel_scope.cancel()

    async def _shake_hands(self, rpc: Rpc) -> None:
        name = self._options.get("client_name", "ferrule_sdk")
        await rpc.call(
            "initialize",
            {
                "clientInfo": {"name": name, "title": None, "version": __version__},
                "capabilities": {"experimentalApi": True},
            },
        )
        await rpc.notify("initialized")

    def _thread_params(self, options: ThreadOptions, *, is_new: bool = True) -> dict[str, object]:
        params: dict[str, object] = {
            _THREAD_NAMES[key]: value for key, value in options.items() if key in _THREAD_NAMES
        }
        cwd = options.get("cwd")
        if cwd is None and is_new:
            cwd = self._options.get("cwd") or (os.getcwd() if is_local(self._options) else None)
        if cwd is not None:
            params["cwd"] = absolute(cwd)
        shared = {} if takes_config(self._options) else self._options.get("config", {})
        if config := {**shared, **options.get("config", {})}:
            params["config"] = config
        return params

    async def _open(self, method: str, params: Mapping[str, object]) -> Thread:
        rpc = self._connection
        opened: list[Thread] = []
        await rpc.call(method, params, on_reply=lambda reply: opened.append(self._state.add(reply)))
        return opened[0]

    async def _pages(
        self, method: str, params: Mapping[str, object], limit: int | None
    ) -> list[object]:
        found: list[object] = []
        cursor: object = None
        while limit is None or len(found) < limit:
            size = _PAGE if limit is None else min(_PAGE, limit - len(found))
            reply = await self.call(method, {**params, "limit": size, "cursor": cursor})
            found += cast("list[object]", reply.get("data") or [])
            cursor = reply.get("nextCursor")
            if not cursor:
                break
        return found


class _State:
    """What is known of a connection: its threads, and who answers. Hears what the server says."""

    def __init__(self, options: FerruleOptions) -> None:
        self.answering = Answering(options, self)
        self.buffers: list[EventBuffer] = []
        self._threads: dict[str, ThreadLog] = {}
        self._items_of_agents: dict[tuple[str, str], ThreadItem] = {}
        self._rpc: Rpc | None = None
        self._group: TaskGroup | None = None

    def begin(self, rpc: Rpc, group: TaskGroup) -> None:
        """The channel is open."""
        self._rpc, self._group = rpc, group

    def add(self, reply: Mapping[str, object]) -> Thread:
        """Take a thread that was opened."""
        if self._rpc is None:
            raise ConnectionLostError("the connection was closed")
        thread_id = cast("ThreadFacts", reply["thread"])["id"]
        log = self._threads.get(thread_id)
        if log is None:
            log = self._threads[thread_id] = ThreadLog(reply)
        else:
            log.refresh(reply)
        return Thread(self._rpc, log)

    def notified(self, method: str, params: Json) -> None:
        """Hand a notification to its thread and to everybody who reads all of them."""
        event = cast("Event", {"method": method, "params": params})
        if method == "serverRequest/resolved":
            self.answering.resolved(cast("RequestResolved", event)["params"]["requestId"])
        thread = self._threads.get(str(params.get("threadId")))
        if thread is not None:
            thread.feed(event)
        else:
            self._heard_of_agent(event)
        if method == "thread/closed" and thread is not None:
            del self._threads[str(params["threadId"])]
            thread.end(ServerError(method, "the server has closed the thread: resume it", 0))
        for buffer in self.buffers:
            buffer.put(event)

    def asked(self, request_id: RequestId, method: str, params: Json) -> None:
        """Have a request answered."""
        if self._group is not None and self._rpc is not None:
            answer = self.answering.answer
            self._group.start_soon(answer, self._rpc, request_id, method, params)

    def lost(self, error: ConnectionLostError) -> None:
        """End everything that waits for the server."""
        for thread in self._threads.values():
            thread.end(error)
        for buffer in self.buffers:
            buffer.close(error)

    def item(self, thread_id: str, turn_id: str, item_id: str) -> ThreadItem | None:
        """Find an item of a running turn."""
        thread = self._threads.get(thread_id)
        log = thread.turn(turn_id) if thread else None
        return log.item(item_id) if log else self._items_of_agents.get((thread_id, item_id))

    def _heard_of_agent(self, event: Event) -> None:
        """Keep the open items of threads that others opened: one may be asked about."""
        if event["method"] == "item/started":
            item = event["params"]["item"]
            self._items_of_agents[event["params"]["threadId"], item["id"]] = item
        elif event["method"] == "item/completed":
            place = event["params"]["threadId"], event["params"]["item"]["id"]
            self._items_of_agents.pop(place, None)

    def fail(self, thread_id: str, turn_id: str, error: CallbackError) -> None:
        """Have a turn end with an error, when it ends."""
        thread = self._threads.get(thread_id)
        log = thread.turn(turn_id) if thread else None
        if log is not None:
            log.failure = log.failure or error


@asynccontextmanager
async def _background() -> AsyncGenerator[TaskGroup]:
    """Run tasks until the block is left; what the block raises comes out bare."""
    failure: BaseException | None = None
    async with anyio.create_task_group() as group:
        try:
            yield group
        except (Exception, SystemExit, KeyboardInterrupt) as error:  # noqa: BLE001 -- raised below
            failure = error
        group.cancel_scope.cancel()
    if failure is not None:
        raise failure
