"""One connection with a running server, from its start to its end."""

from __future__ import annotations

from contextlib import AsyncExitStack
from math import inf
from typing import TYPE_CHECKING, Final, TypeVar, cast

import anyio

from ferrule_hookspecs.errors import FerruleError
from ferrule_mcp.answers import Answers
from ferrule_mcp.manifest import Manifest
from ferrule_mcp.questions import Callers

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from pathlib import Path

    import mcp_types as types
    from mcp.client.auth import OAuthClientProvider
    from mcp.client.session import ClientSession, IncomingMessage
    from pydantic import BaseModel

    from ferrule_hookspecs.plugins import Runtime
    from ferrule_mcp.http_transport import HttpFaults
    from ferrule_mcp.server_log import ServerLog
    from ferrule_mcp.server_settings import ServerSettings
    from ferrule_mcp.stdio_transport import StdioTransport

T = TypeVar("T")
_PAGE_LIMIT: Final = 100
_SETTLE_S: Final = 0.2
_FRESH_S: Final = 5.0
_QUIET: Final = ("client", "mcp", "httpx2")


class ConnectionFailedError(FerruleError):
    """The server could not be started or reached; says why."""


class Connection:
    """A session of the protocol with one server; made anew for each start."""

    def __init__(
        self,
        settings: ServerSettings,
        environ: Mapping[str, str],
        home: Path,
        log: ServerLog,
        warn: Callable[[str], None],
    ) -> None:
        self.manifest = Manifest()
        self.callers = Callers()
        self.is_open = False
        self.opened = anyio.Event()
        self.closed = anyio.Event()
        self.failure = ""
        self.refreshed: Callable[[Manifest], None] = lambda manifest: None
        self._settings = settings
        self._environ = environ
        self._home = home
        self._log = log
        self._warn = warn
        self._session: ClientSession | None = None
        self._transport: StdioTransport | None = None
        self._faults: HttpFaults | None = None
        self._stop = anyio.Event()
        self._scope = anyio.CancelScope()
        self._stale = anyio.Event()
        self._fresh = anyio.Event()
        self._fresh.set()

    @property
    def session(self) -> ClientSession:
        """What requests are sent by.

        Raises:
            ConnectionFailedError: The server is not there (any more).
        """
        if self._session is None or not self.is_open:
            raise ConnectionFailedError(self.failure or "the server has ended")
        return self._session

    @property
    def is_gone(self) -> bool:
        """Whether the server has ended; requests that were under way fail then."""
        return self.closed.is_set() or (self._transport is not None and self._transport.is_over)

    @property
    def was_stopped(self) -> bool:
        """Whether it ends because it was told to."""
        return self._stop.is_set()

    @property
    def has_lost_session(self) -> bool:
        """Whether a server of the network does not know us any more."""
        return self._faults is not None and self._faults.has_lost_session

    @property
    def needs_sign_in(self) -> bool:
        """Whether a server of the network wants to know who we are."""
        return self._faults is not None and self._faults.needs_sign_in

    def give_up(self) -> None:
        """End it, because it is of no use any more."""
        self.failure = "it does not know the session any more"
        self._scope.cancel()

    def stop(self) -> None:
        """Have it end soon, also while it starts."""
        self._stop.set()
        self._scope.cancel()

    async def retire(self) -> None:
        """End it once the calls that are under way have ended."""
        await self.callers.gone()
        self.stop()
        await self.closed.wait()

    async def serve(self, runtime: Runtime | None) -> None:
        """Start the server and keep it until it ends or `stop` is called."""
        try:
            with self._scope:
                await self._serve(runtime)
            if self._stop.is_set():
                self.failure = "it was stopped"
            elif self._scope.cancelled_caught and not self.opened.is_set():
                self.failure = f"it did not start within {self._settings.startup_s:g} s"
        except FerruleError as error:
            self.failure = str(error)
        except Exception as error:  # noqa: BLE001 -- a server or the SDK may raise anything
            self.failure = cause(error)
        finally:
            self._end()

    async def _serve(self, runtime: Runtime | None) -> None:
        await anyio.to_thread.run_sync(_load_library, abandon_on_cancel=True)
        async with AsyncExitStack() as stack:
            self._scope.deadline = anyio.current_time() + self._settings.startup_s
            transport = await self._connect(stack, runtime)
            self._scope.deadline = inf
            self.is_open = True
            self.refreshed(self.manifest)
            self.opened.set()
            await self._watch(transport)

    def _end(self) -> None:
        self.is_open = False
        if self._log.tail and self.failure and not self.opened.is_set():
            self.failure += f"; it wrote: {self._log.tail}"
        self.opened.set()
        self.closed.set()

    async def _connect(
        self, stack: AsyncExitStack, runtime: Runtime | None
    ) -> StdioTransport | None:
        from mcp.client.session import ClientSession

        transport = None
        if self._settings.command:
            from ferrule_mcp.stdio_transport import stdio_transport

            if runtime is None:
                raise FerruleError("no kernel runs that could start it")
            opened = stdio_transport(self._settings, self._environ, runtime, self._log)
            (reader, writer), transport = await stack.enter_async_context(opened)
            self._transport = transport
        else:
            from ferrule_mcp.http_transport import HttpFaults, http_transport

            self._faults = HttpFaults()
            reader, writer = await stack.enter_async_context(
                http_transport(self._settings, self._environ, self._faults, await self._sign_in())
            )
        answers = Answers(self._settings, self.callers, self._log, self._warn)
        session = ClientSession(
            reader,
            writer,
            elicitation_callback=answers.elicit,
            list_roots_callback=answers.roots,
            sampling_callback=answers.sample if self._settings.may_sample else None,
            logging_callback=answers.note,
            log_level="info",
            message_handler=self._heard,
            client_info=_client_info(),
        )
        self._session = await stack.enter_async_context(session)
        await self._greet(transport)
        return transport

    async def _sign_in(self) -> OAuthClientProvider | None:
        if self._settings.bearer_variable:
            return None
        from ferrule_mcp.sign_in import kept_sign_in

        return await kept_sign_in(self._settings, self._home)

    async def lacking(self) -> str:
        """Say what to do where the server wants a wider sign-in; empty where it does not."""
        scopes = frozenset[str]() if self._faults is None else self._faults.wanted_scopes
        if not scopes:
            return ""
        from ferrule_mcp.sign_in_store import SignInStore

        await SignInStore(self._home, self._settings).want(scopes)
        name = self._settings.name
        return (
            f"it wants more than it was granted ({', '.join(sorted(scopes))}); run "
            f"`ferrule mcp login {name}`"
        )

    async def _greet(self, transport: StdioTransport | None) -> None:
        """Shake hands the old way, which nearly all servers know, else the new one."""
        from mcp import MCPError

        session = cast("ClientSession", self._session)
        try:
            try:
                await session.initialize()
            except MCPError:
                if transport is not None and transport.is_over:
                    raise
                await session.discover()
            self.manifest = await self._offer()
        except MCPError as error:
            if transport is not None and transport.is_over:
                raise FerruleError(f"it ended with exit code {await transport.ended()}") from None
            if self.needs_sign_in:
                name = self._settings.name
                raise FerruleError(
                    f"it wants to know who asks; run `ferrule mcp login {name}`, or set "
                    f"`mcp_servers.{name}.bearer_token_env_var`"
                ) from None
            raise FerruleError(f"it refused: {error}") from None

    async def _offer(self) -> Manifest:
        session = cast("ClientSession", self._session)
        capabilities = plain(session.server_capabilities)
        tools: list[Mapping[str, object]] = []
        if "tools" in capabilities:
            tools = [plain(tool) for tool in await self.pages("list_tools", "tools")]
        tools.sort(key=lambda tool: str(tool["name"]))
        said = session.instructions or ""
        return Manifest(tools, plain(session.server_info), capabilities, said)

    async def asked(self, request: Awaitable[T]) -> T:
        """Await the answer to a request that is no call of a tool.

        Raises:
            FerruleError: It was refused, or took too long.
        """
        from mcp import MCPError

        name = self._settings.name
        try:
            with self.callers.other(), anyio.fail_after(self._settings.startup_s):
                return await request
        except MCPError as error:
            if self.has_lost_session:
                self.give_up()  # the next request starts anew
            raise FerruleError(f"the MCP server {name!r} refused: {error}") from None
        except TimeoutError:
            raise FerruleError(
                f"the MCP server {name!r} did not answer within {self._settings.startup_s:g} s"
            ) from None
        except ValueError as error:  # pydantic's, which tells it over many lines
            first = str(error).partition("\n")[0]
            raise FerruleError(
                f"the MCP server {name!r} answered with what is no answer by the protocol: {first}"
            ) from None

    async def pages(self, method: str, field: str) -> Sequence[BaseModel]:
        """Gather all pages of a list."""
        import mcp_types

        found: list[BaseModel] = []
        cursor: str | None = None
        for _ in range(_PAGE_LIMIT):
            params = mcp_types.PaginatedRequestParams(cursor=cursor)
            page = await getattr(self.session_or_starting(), method)(params=params)
            found.extend(getattr(page, field))
            cursor = page.next_cursor
            if cursor is None:
                break
        return found

    def session_or_starting(self) -> ClientSession:
        """The session, also before the server is ready for others."""
        return self.session if self.is_open else cast("ClientSession", self._session)

    async def _watch(self, transport: StdioTransport | None) -> None:
        """Stay until the end; what the server offers is read again where it says so."""
        async with anyio.create_task_group() as group:
            group.start_soon(self._refresh)
            group.start_soon(self._listen)
            if transport is None:
                await anyio.sleep_forever()
            else:
                self.failure = f"it ended with exit code {await transport.ended()}"
                group.cancel_scope.cancel()

    async def _listen(self) -> None:
        """Have a server of the newest protocol say when its tools change; others do unasked."""
        from mcp import MCPError
        from mcp.client.subscriptions import SubscriptionLost, listen

        if self.session.discover_result is None:
            return
        try:
            async with listen(self.session, tools_list_changed=True) as changes:
                async for _ in changes:
                    self._note_change()
        except (MCPError, SubscriptionLost, TimeoutError):
            return  # it does not say so; the next start shows

    async def _refresh(self) -> None:
        from mcp import MCPError

        while True:
            await self._stale.wait()
            self._stale = anyio.Event()
            try:
                self.manifest = await self._offer()
            except (MCPError, FerruleError, ValueError) as error:
                self._warn(f"the MCP server {self._settings.name!r} cannot be asked again: {error}")
            else:
                self.refreshed(self.manifest)
            if not self._stale.is_set():
                self._fresh.set()
            await anyio.sleep(_SETTLE_S)  # a server that changes all the time is not asked as often

    async def settled(self) -> None:
        """Wait a moment until what the server said has changed was read again."""
        with anyio.move_on_after(_FRESH_S):
            await self._fresh.wait()

    async def _heard(self, message: IncomingMessage) -> None:
        """Hear what changed. Prompts and resources are asked for when somebody wants them."""
        from mcp_types import ToolListChangedNotification

        if isinstance(message, ToolListChangedNotification):
            self._note_change()
        await anyio.lowlevel.checkpoint()

    def _note_change(self) -> None:
        if self._fresh.is_set():
            self._fresh = anyio.Event()
        self._stale.set()


def _load_library() -> None:
    """Import the SDK, which takes a second, where the event loop need not wait for it."""
    import logging

    import mcp.client.session  # noqa: F401

    for name in _QUIET:  # it logs what servers do wrong; that is told by us, not on the terminal
        logging.getLogger(name).addHandler(logging.NullHandler())
        logging.getLogger(name).propagate = False


def _client_info() -> types.Implementation:
    from importlib.metadata import version

    import mcp_types

    return mcp_types.Implementation(name="ferrule", version=version("ferrule-mcp"))


def plain(model: BaseModel | None) -> dict[str, object]:
    """Return the wire form of what a server said."""
    if model is None:
        return {}
    return model.model_dump(by_alias=True, mode="json", exclude_none=True)


def cause(error: BaseException) -> str:
    """Name the first cause; task groups wrap it in groups."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    if isinstance(error, FerruleError | TimeoutError):
        return str(error)
    return f"{type(error).__name__}: {error}".rstrip(": ")
