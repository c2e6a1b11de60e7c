"""What a session does for its plugins when they ask. Satisfies the contract's `SessionServices`.

Made before the plugins, which are given it, and bound once the session is built.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from ferrule.approval_question import TurnCancelledError
from ferrule.attempt import confined
from ferrule.call_parsing import parse_call
from ferrule.orchestrator import Orchestrator
from ferrule_hookspecs.errors import PluginError
from ferrule_hookspecs.tools import ToolResult

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ferrule.conversation import Conversation
    from ferrule.family import Family
    from ferrule.session_parts import SessionParts
    from ferrule_hookspecs.history import CallItem
    from ferrule_hookspecs.host import Session, SessionFacts
    from ferrule_hookspecs.provider import ModelProvider
    from ferrule_hookspecs.sandbox import FileSystem
    from ferrule_hookspecs.services import ChildOptions
    from ferrule_hookspecs.tool_finding import DeferredTool
    from ferrule_hookspecs.tools import Tool

_TOO_EARLY: Final = "the session is not open yet: ask in a hook, not while it is built"


class LiveServices:
    """The services of one session."""

    def __init__(self) -> None:
        self._session: tuple[SessionParts, Conversation] | None = None
        self._kin: Family | None = None

    def bind(self, parts: SessionParts, conversation: Conversation) -> None:
        """Say which session it is."""
        self._session = parts, conversation

    def join(self, family: Family) -> None:
        """Say where it stands among the threads that work for each other."""
        self._kin = family

    def provider(self, name: str = "") -> ModelProvider:
        """Open a model provider by its name, the session's for an empty one."""
        return self._bound()[0].review_provider(name)

    def files(self) -> FileSystem:
        """Return files as the session's sandbox policy lets a call without approval use them."""
        return confined(self._bound()[0]).files

    def keep(self, name: str, value: Mapping[str, object] | None) -> None:
        """Keep a value with the thread; None takes it away."""
        self._bound()[0].kept.put(name, None if value is None else dict(value))

    def kept(self, name: str) -> Mapping[str, object] | None:
        """Return what is kept with the thread under a name."""
        return self._bound()[0].kept.get(name)

    async def begin_turn(self) -> None:
        """Have the model go on without input of a user."""
        await self._family().begin_turn()

    @property
    def facts(self) -> SessionFacts:
        """What holds from now on in the session."""
        return self._family().facts

    @property
    def lineage(self) -> Sequence[str]:
        """The threads above the session's, the root first; empty for a root."""
        return self._family().lineage

    async def open_child(self, options: ChildOptions) -> Session:
        """Open a thread that works for this one."""
        return await self._family().open(options)

    async def inject(self, items: Sequence[Mapping[str, object]]) -> None:
        """Put items at the end of this session's history; no turn is started."""
        await self._family().inject(items)

    def deferred_tools(self) -> Sequence[DeferredTool]:
        """List the tools that the session's model may look for."""
        return self._bound()[0].offer.deferred()

    async def call_tool(
        self, name: str, arguments: Mapping[str, object], *, call_id: str, turn_id: str
    ) -> ToolResult:
        """Call a tool of the session by name, the way every call goes."""
        parts, conversation = self._bound()
        item: CallItem = {
            "type": "function_call",
            "call_id": call_id,
            "name": name,
            "arguments": json.dumps(arguments, ensure_ascii=False, default=dict),
        }
        call = parse_call(item, parts.tools)
        orchestrator = Orchestrator(parts, turn_id, conversation)
        try:
            outcome = await orchestrator.run(call)
        except TurnCancelledError as error:  # it ends what asked for the call, not the turn
            return ToolResult(str(error), success=False)
        await orchestrator.report(outcome)
        return outcome.result

    def offer_tools(self, tools: Sequence[Tool]) -> Sequence[str]:
        """Offer more tools, behind those there are, from the next request on."""
        from ferrule.late_tools import add_tools

        return add_tools(self._bound()[0], tools)

    def _bound(self) -> tuple[SessionParts, Conversation]:
        if self._session is None:
            raise PluginError(_TOO_EARLY)
        return self._session

    def _family(self) -> Family:
        if self._kin is None:
            raise PluginError(_TOO_EARLY)
        return self._kin
