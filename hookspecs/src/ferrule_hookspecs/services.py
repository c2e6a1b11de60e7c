"""What an open session does for its plugins when they ask.

A model, files, a call of a tool, and threads that work for it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from ferrule_hookspecs.host import Session, SessionFacts
    from ferrule_hookspecs.provider import ModelProvider
    from ferrule_hookspecs.sandbox import FileSystem
    from ferrule_hookspecs.tool_finding import DeferredTool
    from ferrule_hookspecs.tools import Tool, ToolResult


class ChildOptions(NamedTuple):
    """How a thread that works for a session differs from it; all else is as in the session.

    Attributes:
        settings: Values of the configuration by dotted key, such as `model`. Only what a project's
            file may set counts: harmless keys, and safety in the narrower direction.
        base_instructions: Replaces the session's base prompt.
        developer_instructions: Replaces the session's developer instructions.
        copies_history: The thread begins with a copy of the session's conversation.
        hidden_tools: Names of tools that its model is not offered.
        ephemeral: Store nothing.
        name: What it is called among its siblings.
        role: What it is for.
        source: What starts it: `subagent`, `review` …
        is_shown: The root's clients hear of it; they are asked its questions in any case.
        thread_id: Goes on with a stored thread that the session started before.
    """

    settings: Mapping[str, object] = MappingProxyType({})
    base_instructions: str | None = None
    developer_instructions: str | None = None
    copies_history: bool = False
    hidden_tools: Collection[str] = ()
    ephemeral: bool = False
    name: str = ""
    role: str = ""
    source: str = "subagent"
    is_shown: bool = True
    thread_id: str = ""


class SessionServices(Protocol):
    """The services of one session; usable from its first hook to its last."""

    def provider(self, name: str = "") -> ModelProvider:
        """Open a model provider by its name, the session's for an empty one.

        It tries nothing again by itself, and the session closes it.

        Raises:
            ConfigError: It is not configured.
        """
        ...

    def files(self) -> FileSystem:
        """Return files as the session's sandbox policy lets a call without approval use them."""
        ...

    def deferred_tools(self) -> Sequence[DeferredTool]:
        """List the tools that the session's model may look for, in stable order."""
        ...

    async def call_tool(
        self, name: str, arguments: Mapping[str, object], *, call_id: str, turn_id: str
    ) -> ToolResult:
        """Call a tool of the session by name, such as `mcp__SERVER__TOOL`, in a running turn.

        The call goes the way of every call: assessed, reviewed, confined, shown and recorded under
        `call_id`, which must be new. A call that is refused or fails gives a result without
        success whose output says why; the model sees nothing of it.

        Raises:
            ToolArgumentError: There is no such tool, or its arguments do not fit.
        """
        ...

    def offer_tools(self, tools: Sequence[Tool]) -> Sequence[str]:
        """Offer more tools in the open session, behind those it has, from its next request on.

        Tools stay as long as the session, so that what was sent of the list stays as it is. One
        that the configuration switches off, or whose name is taken, is left out.

        Returns:
            The names that were added.
        """
        ...

    def keep(self, name: str, value: Mapping[str, object] | None) -> None:
        """Keep a value with the thread, under a name of the plugin's own; None takes it away.

        It is JSON, and is there again when the thread is resumed or forked.
        """
        ...

    def kept(self, name: str) -> Mapping[str, object] | None:
        """Return what is kept with the thread under a name."""
        ...

    async def begin_turn(self) -> None:
        """Have the model go on without input of a user, such as with what was injected.

        Where a turn runs, that one goes on.
        """
        ...

    @property
    def facts(self) -> SessionFacts:
        """What holds from now on in the session."""
        ...

    @property
    def lineage(self) -> Sequence[str]:
        """The threads above the session's, the root first; empty for a root."""
        ...

    async def open_child(self, options: ChildOptions) -> Session:
        """Open a thread that works for this one.

        It may do no more than this session at any moment, whatever its settings say: what it does
        is judged by both sandbox policies and both approval policies, strictest wins, and
        reviewed by this session's reviewer. Its questions reach the clients of the root, with the
        child's thread id. When the turn of the root is interrupted, so is the child's, and it
        closes with this session at the latest. Whoever opens it reads its `events()`, which hold
        no questions.

        Raises:
            FerruleError: It cannot be opened.
        """
        ...

    async def inject(self, items: Sequence[Mapping[str, object]]) -> None:
        """Put items at the end of this session's history, as `thread/inject_items` does.

        The model reads them with the next request; no turn is started.
        """
        ...
