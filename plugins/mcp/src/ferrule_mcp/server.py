"""One configured server: started when it is needed, and again after a crash."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, cast

import anyio

from ferrule_hookspecs.errors import FerruleError
from ferrule_mcp.connection import Connection, ConnectionFailedError
from ferrule_mcp.manifest import Manifest, read_manifest, write_manifest
from ferrule_mcp.pins import changed_parts, changed_tools
from ferrule_mcp.programs import program_stamp
from ferrule_mcp.server_log import ServerLog

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import Literal

    import mcp_types as types
    from mcp import MCPError
    from mcp.shared.dispatcher import ProgressFnT

    from ferrule_hookspecs.plugins import Runtime
    from ferrule_mcp.questions import Caller
    from ferrule_mcp.server_settings import ServerSettings

    Status = Literal["starting", "ready", "failed", "cancelled"]

_ROUND_LIMIT: Final = 8
_PATIENT_CRASHES: Final = 5
_PAUSE_LIMIT_S: Final = 60.0
_FAREWELL_S: Final = 4.0


class _SessionLostError(FerruleError):
    """A server of the network was asked in a session that it does not know any more."""


class Holder(Protocol):
    """Who uses a server."""

    def told(self, server: str, status: Status, error: str | None) -> None:
        """Hear how its start goes."""
        ...

    def warned(self, message: str) -> None:
        """Hear what a user should know."""
        ...

    def offered(self, server: Server) -> None:
        """Hear that it is known (anew) what it offers."""
        ...


class ToolChangedError(FerruleError):
    """A tool is not any more what the call was made and judged for; nothing has run."""


class ToolRequest(NamedTuple):
    """A call of a tool.

    Attributes:
        tool: What the server calls it.
        arguments: What it is called with.
        progress: Hears how far it is.
        judged: What the tool was when the call was made and judged; None where nobody did.
    """

    tool: str
    arguments: Mapping[str, object]
    progress: ProgressFnT | None = None
    judged: Mapping[str, object] | None = None


def _unheard(manifest: Manifest) -> None:
    """What a former process offers counts no more."""


class Server:
    """A server that may or may not run at the moment."""

    def __init__(
        self, settings: ServerSettings, environ: Mapping[str, str], home: Path, runtime: Runtime
    ) -> None:
        self.settings = settings
        self.holders: set[Holder] = set()
        self._environ = environ
        self._home = home
        self._runtime = runtime
        self._manifest = read_manifest(home, settings.manifest_key)
        self._log = ServerLog(home, settings.name)
        self._connection: Connection | None = None
        self._program: object = None
        self._crashes = 0
        self._opened_at = 0.0
        self._not_before = 0.0

    @property
    def manifest(self) -> Manifest | None:
        """What it offers, as far as that is known."""
        return self._manifest

    @property
    def state(self) -> Literal["notStarted", "starting", "connected", "failed"]:
        """How it stands, as clients of the app-server are told."""
        connection = self._connection
        if connection is None:
            return "notStarted"
        if connection.is_open:
            return "connected"
        return "failed" if connection.closed.is_set() else "starting"

    @property
    def sign_in_state(self) -> Literal["unsupported", "notLoggedIn", "bearerToken", "oAuth"]:
        """How it knows us, as clients of the app-server are told."""
        from ferrule_mcp.sign_in_store import SignInStore

        headers = {*self.settings.headers, *self.settings.env_headers}
        if self.settings.bearer_variable or "authorization" in {h.lower() for h in headers}:
            return "bearerToken"
        if not self.settings.url:
            return "unsupported"
        if SignInStore(self._home, self.settings).exists:
            return "oAuth"
        connection = self._connection
        is_refused = connection is not None and connection.needs_sign_in
        return "notLoggedIn" if is_refused else "unsupported"

    @property
    def failure(self) -> str:
        """Why it is not there, if it was started."""
        return "" if self._connection is None else self._connection.failure

    def start(self) -> Connection:
        """Begin to start it, unless it runs or starts already."""
        connection = self._connection
        if connection is None or connection.closed.is_set():
            connection = Connection(self.settings, self._environ, self._home, self._log, self._warn)
            connection.refreshed = self._remember
            self._connection = connection
            self._program = program_stamp(self.settings, self._environ)
            name = f"the MCP server {self.settings.name!r}"
            self._runtime.start(lambda: self._keep(connection), name)
        return connection

    async def opened(self) -> Connection:
        """Return the connection, starting the server where it does not run.

        Raises:
            ConnectionFailedError: It cannot be started.
        """
        if self.state == "failed":
            await self._pause()
        connection = self.start()
        await connection.opened.wait()
        if connection is not self._connection:  # its program has changed meanwhile
            return await self.opened()
        if not connection.is_open:
            raise ConnectionFailedError(
                f"the MCP server {self.settings.name!r} cannot be used: {connection.failure}"
            )
        return connection

    async def call(self, caller: Caller, request: ToolRequest) -> types.CallToolResult:
        """Call a tool.

        Raises:
            ToolChangedError: It is not what it was thought to be.
            FerruleError: The server could not be asked, refused or did not answer; says why.
        """
        caller.scope.deadline = anyio.current_time() + self.settings.call_s
        with caller.scope:
            try:
                return await self._called(caller, request)
            except _SessionLostError:  # it did not run, so that it may be tried again
                return await self._called(caller, request)
        raise FerruleError(
            f"the MCP server {self.settings.name!r} did not answer the call of {request.tool!r} "
            f"within {self.settings.call_s:g} s; "
            f"`mcp_servers.{self.settings.name}.tool_timeout_sec` sets how long it may take"
        )

    async def _called(self, caller: Caller, request: ToolRequest) -> types.CallToolResult:
        with caller.paused():  # how long a start may take is bounded by itself
            connection = await self.opened()
        self._compare(connection, request)
        connection.callers.enter(caller)
        try:
            return await self._answered(connection, request)
        finally:
            connection.callers.leave(caller)
            await connection.settled()

    def _compare(self, connection: Connection, request: ToolRequest) -> None:
        """Compare what the server offers with what the call was made for."""
        if request.judged is None:
            return
        name = self.settings.name
        live = connection.manifest.tool(request.tool)
        if live is None:
            raise FerruleError(f"the MCP server {name!r} does not offer {request.tool!r} any more")
        if changed := changed_parts(request.judged, live):
            raise ToolChangedError(
                f"the MCP server {name!r} has changed its tool {request.tool!r} ({changed}) since "
                "it was offered; nothing has run"
            )

    async def _answered(self, connection: Connection, request: ToolRequest) -> types.CallToolResult:
        from mcp import MCPError
        from mcp_types import CallToolResult, InputRequiredResult

        tool, responses, state = request.tool, None, None
        for _ in range(_ROUND_LIMIT):
            try:
                result = await connection.session.call_tool(
                    tool,
                    dict(request.arguments),
                    progress_callback=request.progress,
                    input_responses=responses,
                    request_state=state,
                    allow_input_required=True,
                )
            except MCPError as error:
                raise await self._refusal(connection, tool, error) from None
            except RuntimeError as error:  # the answer does not fit what the server promised
                raise FerruleError(f"the MCP server {self.settings.name!r}: {error}") from None
            except ValueError as error:  # pydantic's, which tells it over many lines
                first = str(error).partition("\n")[0]
                raise FerruleError(
                    f"the MCP server {self.settings.name!r} answered the call of {tool!r} with "
                    f"what is no answer by the protocol: {first}"
                ) from None
            if isinstance(result, CallToolResult):
                return result
            required = cast("InputRequiredResult", result)
            responses = await self._responses(connection, required)
            state = required.request_state
        raise FerruleError(
            f"the MCP server {self.settings.name!r} asked {_ROUND_LIMIT} times and gave no answer"
        )

    async def _refusal(self, connection: Connection, tool: str, error: MCPError) -> FerruleError:
        """Tell a server that refuses a call from one that is gone."""
        from mcp_types import CONNECTION_CLOSED

        name = self.settings.name
        if connection.has_lost_session:
            connection.give_up()
            await self._gone(connection)
            if error.code != CONNECTION_CLOSED:  # that of a call which was taken: it may have run
                return _SessionLostError(str(error))
        if connection.is_gone:
            await self._gone(connection)
            return FerruleError(
                f"the MCP server {name!r} ended during the call: {connection.failure}; the next "
                "call starts it again"
            )
        why = await connection.lacking() or f"{error} (error {error.code})"
        return FerruleError(f"the MCP server {name!r} refused the call of {tool!r}: {why}")

    async def _responses(
        self, connection: Connection, required: types.InputRequiredResult
    ) -> types.InputResponses:
        """Answer what the server needs to know before it goes on."""
        from mcp.client.session import ClientRequestContext
        from mcp_types import ErrorData

        answers: dict[str, types.InputResponse] = {}
        for key, request in (required.input_requests or {}).items():
            context = ClientRequestContext(session=connection.session, request_id=key)
            answer = await connection.session.dispatch_input_request(context, request)
            if isinstance(answer, ErrorData):
                raise FerruleError(
                    f"the MCP server {self.settings.name!r} asks for something that is not "
                    f"given: {answer.message}"
                )
            answers[key] = answer
        return answers

    async def _gone(self, connection: Connection) -> None:
        with anyio.move_on_after(_FAREWELL_S):
            await connection.closed.wait()

    async def stop(self) -> None:
        """End it and wait for its end."""
        connection = self._connection
        if connection is not None and not connection.closed.is_set():
            connection.stop()
            await self._gone(connection)

    def renew(self) -> bool:
        """Have the next call start the program anew if it has changed; returns whether it has.

        Calls that are under way end with the process that they began with.
        """
        old = self._connection
        if old is None or old.closed.is_set():
            return False
        if self._program == program_stamp(self.settings, self._environ):
            return False
        self._connection = None
        old.refreshed = _unheard
        name = f"the former process of the MCP server {self.settings.name!r}"
        self._runtime.start(old.retire, name)
        return True

    async def _keep(self, connection: Connection) -> None:
        self._tell("starting", None)
        async with anyio.create_task_group() as group:
            group.start_soon(self._announce, connection)
            await connection.serve(self._runtime)
        if connection.failure and not connection.was_stopped:
            self._note_crash()

    async def _announce(self, connection: Connection) -> None:
        await connection.opened.wait()
        if not connection.is_open:
            self._tell("cancelled" if connection.was_stopped else "failed", connection.failure)
            return
        self._opened_at = anyio.current_time()
        self._tell("ready", None)
        await connection.closed.wait()
        if not connection.was_stopped:
            self._tell("failed", connection.failure)

    def _remember(self, manifest: Manifest) -> None:
        changed = changed_tools(self._manifest, manifest, self.settings)
        if changed:
            self._warn(f"the MCP server {self.settings.name!r} has changed its tools: {changed}")
        self._manifest = manifest
        write_manifest(self._home, self.settings.manifest_key, manifest)
        for holder in list(self.holders):
            holder.offered(self)

    def _note_crash(self) -> None:
        """Wait longer before each further start, unless it had run well for a while."""
        now = anyio.current_time()
        ran_well = self._opened_at and now - self._opened_at > _PAUSE_LIMIT_S
        self._crashes = 1 if ran_well else self._crashes + 1
        self._opened_at = 0.0
        self._not_before = now + min(0.25 * 2 ** (self._crashes - 1), _PAUSE_LIMIT_S)

    async def _pause(self) -> None:
        left = self._not_before - anyio.current_time()
        if left > 0 and self._crashes > _PATIENT_CRASHES:
            raise ConnectionFailedError(
                f"the MCP server {self.settings.name!r} has ended {self._crashes} times "
                f"({self.failure}); it is not started again for another {left:.0f} s"
            )
        await anyio.sleep(max(left, 0))

    def _tell(self, status: Status, error: str | None) -> None:
        for holder in list(self.holders):
            holder.told(self.settings.name, status, error)

    def _warn(self, message: str) -> None:
        for holder in list(self.holders):
            holder.warned(message)
