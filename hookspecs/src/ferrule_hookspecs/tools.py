"""Tools: what a model may call. Group `ferrule.tools`, or the hook `ferrule_tools`.

A tool is a subclass of `Tool`; the kernel makes one instance per session and calls it through the
orchestrator, which reviews the call first and hands it a sandbox.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple, Protocol

from ferrule_hookspecs.errors import ToolArgumentError, ToolError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from pydantic import BaseModel

    from ferrule_hookspecs.events import Event, ServerRequest
    from ferrule_hookspecs.history import ContentPart
    from ferrule_hookspecs.items import ThreadItem
    from ferrule_hookspecs.permissions import AdditionalPermissions
    from ferrule_hookspecs.plugins import PluginContext
    from ferrule_hookspecs.policies import ApprovalPolicy, SandboxMode
    from ferrule_hookspecs.review import Amendment
    from ferrule_hookspecs.sandbox import (
        Command,
        CommandResult,
        Denial,
        FileSystem,
        ResolvedPolicy,
    )


class SandboxDeniedError(ToolError):
    """The sandbox's policy refused a file operation; carries the denial for the orchestrator."""

    def __init__(self, denial: Denial) -> None:
        """Keep the denial beside its reason."""
        super().__init__(denial.reason)
        self.denial = denial


class FunctionSchema(NamedTuple):
    """A tool called with JSON arguments; `parameters` is a JSON Schema object."""

    name: str
    description: str
    parameters: Mapping[str, object]


class FreeformSchema(NamedTuple):
    """A tool called with plain text that follows a grammar."""

    name: str
    description: str
    syntax: Literal["lark", "regex"]
    definition: str


ToolSchema = FunctionSchema | FreeformSchema


class HostedSchema(NamedTuple):
    """A tool that the provider itself runs; `settings` is what its API is told beside the name."""

    name: str
    settings: Mapping[str, object]


class SearchSchema(NamedTuple):
    """A tool finder, in the form of its own that an API has for it; made by the kernel alone."""

    name: str
    description: str
    parameters: Mapping[str, object]


SpecialSchema = HostedSchema | SearchSchema


class ToolNamespace(NamedTuple):
    """What several tools have in common, such as their MCP server.

    Attributes:
        name: Such as `mcp__docs`. A model may call the tool `mcp__docs__find` as `find` of it.
        description: One sentence or two about its tools.
    """

    name: str
    description: str


class ToolCall(NamedTuple):
    """A call after normalisation. What reviewers see is this object, and this object runs.

    Attributes:
        call_id: The model's id of the call.
        tool: Name of the tool that runs.
        arguments: Parsed JSON arguments; empty for a freeform call. Deeply frozen by the kernel.
        text: The arguments as text: JSON of a function call, else the input itself.
        form: How the model called it.
        requested_tool: What the model named, where a plugin rewrote the call.
    """

    call_id: str
    tool: str
    arguments: Mapping[str, object]
    text: str
    form: Literal["function", "freeform"]
    requested_tool: str | None = None


class Requirement(NamedTuple):
    """What a call needs before it may run, in the tool's own opinion.

    Attributes:
        kind: skip needs nothing; approval must be asked for; forbidden never runs.
        reason: One sentence in plain words.
        escalate: The call asks to run outside the sandbox from the start.
        permissions: What the call needs beyond its sandbox; the kernel asks for what is missing
            of it, and the call then runs in the sandbox with exactly that more.
        lasting: `permissions` are for the calls that follow: until the turn ends, or for the
            session where they are accepted for it.
        amendments: With approval: what may be changed for good by whoever accepts.
        details: With approval: what may be shown about the call beside the reason. It may come
            from strangers and proves nothing.
    """

    kind: Literal["skip", "approval", "forbidden"] = "skip"
    reason: str = ""
    escalate: bool = False
    permissions: AdditionalPermissions | None = None
    lasting: bool = False
    amendments: tuple[Amendment, ...] = ()
    details: Mapping[str, object] = MappingProxyType({})


class ToolResult(NamedTuple):
    """What a call gave.

    Attributes:
        output: What the model reads.
        success: Whether the call did what it was asked.
        item: The item in its final form; None lets the kernel complete the started one.
        pending: The item goes on after the call (a command still runs); the tool completes it.
        denial: What the sandbox refused, if it did.
        found: With tool finders: names of the deferred tools that fit, best first. The model is
            told of them.
    """

    output: str | list[ContentPart]
    success: bool = True
    item: ThreadItem | None = None
    pending: bool = False
    denial: Denial | None = None
    found: tuple[str, ...] = ()


class Process(Protocol):
    """A running command, owned by the kernel: it does not outlive the session."""

    pid: int

    async def read(self) -> bytes:
        """Await more output, stdout and stderr in one ordered stream; empty at its end."""
        ...

    async def read_stderr(self) -> bytes:
        """Await more of stderr, where it was asked for apart; empty at its end."""
        ...

    async def write(self, data: bytes) -> None:
        """Write to its input."""
        ...

    def resize(self, rows: int, columns: int) -> None:
        """Change the size of its terminal; nothing happens where it has none."""
        ...

    def close_input(self) -> None:
        """End its input, so that a program that reads to the end can finish.

        A terminal stays open: who types there sends the character for the end.
        """
        ...

    async def wait(self) -> int:
        """Await its end; exit code, or 128 + n when signal n ended it.

        Raises:
            SandboxUnavailableError: Its sandbox was found broken when it was taken down.
        """
        ...

    def send_signal(self, number: int) -> None:
        """Send a signal to the command."""
        ...

    def kill(self) -> None:
        """Kill it and everything it started."""
        ...


class SandboxSession(Protocol):
    """The sandbox of one attempt."""

    policy: ResolvedPolicy
    files: FileSystem

    async def spawn(self, command: Command) -> Process:
        """Start a command; raises `SandboxUnavailableError` when the sandbox cannot start."""
        ...

    def classify(self, result: CommandResult) -> Denial | None:
        """Tell whether the sandbox made a command fail."""
        ...


class ToolContext(Protocol):
    """What the kernel gives a call.

    Attributes:
        thread_id: The thread.
        turn_id: The turn.
        cwd: Absolute working directory of the turn.
        sandbox: The sandbox of this attempt.
        output_token_limit: Upper bound on what the model reads back, in tokens.
        ask_client: Puts a question to the client and awaits its result; None when no client of
            this session can answer. The question's `id` is filled in by the session.
    """

    thread_id: str
    turn_id: str
    cwd: str
    sandbox: SandboxSession
    output_token_limit: int
    ask_client: Callable[[ServerRequest], Awaitable[Mapping[str, object]]] | None

    def emit(self, event: Event) -> None:
        """Tell the session's clients something; also after the call has returned."""
        ...

    def environment(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        """The environment for a command, `extra` merged in and the environment policy applied."""
        ...


class Tool(ABC):
    """Something a model may call. One instance per session.

    Attributes:
        name: What the model calls it; unique.
        description: What the model reads about it.
        arguments_model: A pydantic model of the arguments; or override `schema`.
        parallel: Whether calls may overlap with others that also say so.
        read_only: Whether calls never change anything; approval mode `untrusted` lets them run.
        needs_client: Offered only where a client of the session can answer questions.
        internal: Offered to no model: plugins call it by `SessionServices.call_tool`.
        deferred: May be kept from the model until it is found by the session's tool finder, where
            there is one and it wants that; its schema is that of a function. It can be called all
            the same.
        namespace: What it has in common with others, None where nothing.
    """

    name: ClassVar[str]
    description: ClassVar[str] = ""
    arguments_model: ClassVar[type[BaseModel] | None] = None
    parallel: ClassVar[bool] = False
    read_only: ClassVar[bool] = False
    needs_client: ClassVar[bool] = False
    internal: ClassVar[bool] = False
    deferred: ClassVar[bool] = False
    namespace: ClassVar[ToolNamespace | None] = None

    def __init__(self, context: PluginContext) -> None:
        """Keep the settings; nothing is started before the first call."""
        self.context = context

    def user_command(self, command: str, timeout_ms: int | None) -> ToolCall | None:
        """Return the call that runs a command line the user typed; None where it is no shell."""
        return None

    def is_enabled(self) -> bool:
        """Whether the session's configuration offers this tool to the model."""
        return True

    def schema(self) -> ToolSchema | HostedSchema:
        """How the model is told to call it; stable for the life of the session."""
        parameters: Mapping[str, object] = {"type": "object", "properties": {}}
        if self.arguments_model is not None:
            parameters = self.arguments_model.model_json_schema()
        return FunctionSchema(self.name, self.description, parameters)

    def normalize(self, arguments: Mapping[str, object]) -> Mapping[str, object]:
        """Check the arguments and fill in defaults.

        Raises:
            ToolArgumentError: They do not fit; the message goes to the model.
        """
        if self.arguments_model is None:
            return arguments
        from pydantic import ValidationError  # heavy, and only needed here

        try:
            return self.arguments_model.model_validate(dict(arguments)).model_dump(mode="json")
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            place = ".".join(str(part) for part in first["loc"]) or "arguments"
            raise ToolArgumentError(
                f"failed to parse function arguments: {place}: {first['msg']}"
            ) from None

    def item(self, call: ToolCall, cwd: str) -> ThreadItem | None:
        """How the call is shown while it runs; None shows nothing."""
        return {
            "type": "dynamicToolCall",
            "id": call.call_id,
            "tool": call.tool,
            "arguments": json.loads(call.text) if call.form == "function" else call.text,
            "status": "inProgress",
        }

    def requirement(self, call: ToolCall, sandbox: SandboxSession) -> Requirement:
        """What the call needs before it may run."""
        return Requirement()

    async def prewarm(self, context: ToolContext) -> None:
        """Prepare what the first call would otherwise wait for.

        Called in the background when a turn starts; the turn neither waits for it nor fails by it.
        """
        return

    @abstractmethod
    async def run(self, call: ToolCall, context: ToolContext) -> ToolResult:
        """Do it.

        Raises:
            ToolError: It could not be done; the message goes to the model.
        """

    async def aclose(self) -> None:
        """End everything the tool started; called once, when the session ends."""
        return


class TurnInfo(NamedTuple):
    """The turn a hook is called for.

    Attributes:
        thread_id: The thread.
        turn_id: The turn.
        cwd: Absolute working directory of the turn.
        model: The model.
        parent_thread_id: The thread that started this one.
        labels: What the client said about the turn.
        approval_policy: When somebody is asked, in this turn.
        sandbox_mode: How commands are confined, in this turn.
    """

    thread_id: str
    turn_id: str
    cwd: str
    model: str
    parent_thread_id: str | None = None
    labels: Mapping[str, str] = MappingProxyType({})
    approval_policy: ApprovalPolicy = "on-request"
    sandbox_mode: SandboxMode = "workspace-write"
