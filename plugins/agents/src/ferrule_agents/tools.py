"""The five tools by which a model has other threads work for it.

Called by the kernel; what they do is in `crew.py`, which is imported by the first call.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar, cast

from ferrule_agents.schemas import (
    CLOSE,
    NAMESPACE,
    RESUME,
    SEND,
    SPAWN,
    WAIT,
    text_of,
    with_roles,
)
from ferrule_agents.settings import AgentSettings
from ferrule_hookspecs.errors import FerruleError, ToolArgumentError, ToolError
from ferrule_hookspecs.tools import FunctionSchema, Tool, ToolResult

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ferrule_agents.crew import Crew, Done
    from ferrule_hookspecs.items import CollabAgentToolCallItem, ThreadItem
    from ferrule_hookspecs.tools import ToolCall, ToolContext, ToolNamespace


class AgentTool(Tool):
    """What the five tools have in common. They change nothing themselves.

    Attributes:
        shown_as: How clients call it.
        form: What the model reads about it.
    """

    shown_as: ClassVar[str]
    form: ClassVar[FunctionSchema]
    namespace: ClassVar[ToolNamespace | None] = NAMESPACE
    deferred: ClassVar[bool] = True
    parallel: ClassVar[bool] = True
    read_only: ClassVar[bool] = True

    _has_crew = False

    def is_enabled(self) -> bool:
        """Off with `[agents] enabled = false`, or `max_depth = 0`."""
        settings = AgentSettings.read(self.context)
        return settings.enabled and settings.max_depth > 0

    def schema(self) -> FunctionSchema:
        """How the model calls it."""
        return self.form

    def normalize(self, arguments: Mapping[str, object]) -> Mapping[str, object]:
        """Check the arguments."""
        from ferrule_agents.arguments import checked

        return checked(arguments, self.form.parameters)

    def item(self, call: ToolCall, cwd: str) -> ThreadItem | None:
        """The call as clients see it."""
        item: CollabAgentToolCallItem = {
            "type": "collabAgentToolCall",
            "id": call.call_id,
            "tool": self.shown_as,
            "status": "inProgress",
            "senderThreadId": self.context.thread_id,
            "receiverThreadIds": self.targets(call),
            "prompt": text_of(call.arguments) or None,
            "agentsStates": {},
        }
        return item

    def targets(self, call: ToolCall) -> list[str]:
        """The threads that the call is about, as far as they are known before it runs."""
        target = call.arguments.get("target") or call.arguments.get("id")
        return [str(target)] if target else []

    async def run(self, call: ToolCall, context: ToolContext) -> ToolResult:
        """Do it, and show how the agents stand then."""
        from json import dumps

        from ferrule_agents.crew import Crew

        self._has_crew = True
        try:
            done = await self.act(Crew.of(self.context), call)
        except (ToolError, ToolArgumentError):
            raise
        except FerruleError as error:
            raise ToolError(str(error)) from None
        started = cast("CollabAgentToolCallItem", self.item(call, context.cwd))
        item: CollabAgentToolCallItem = {
            **started,
            "status": "completed",
            "receiverThreadIds": done.receivers,
            "agentsStates": done.states,
        }
        if done.model is not None:
            item["model"], item["reasoningEffort"] = done.model, done.reasoning_effort
        return ToolResult(dumps(done.answer, ensure_ascii=False, separators=(",", ":")), item=item)

    async def aclose(self) -> None:
        """Forget the agents; the session has ended them."""
        if self._has_crew:
            from ferrule_agents.crew import Crew

            Crew.disband(self.context)

    @abstractmethod
    async def act(self, crew: Crew, call: ToolCall) -> Done:
        """Do it."""


class SpawnAgent(AgentTool):
    """Starts an agent."""

    name = "spawn_agent"
    shown_as = "spawnAgent"
    form = SPAWN

    def schema(self) -> FunctionSchema:
        """How the model calls it; the roles are those of the configuration."""
        return with_roles(SPAWN, AgentSettings.read(self.context).descriptions())

    def item(self, call: ToolCall, cwd: str) -> ThreadItem | None:
        """The call as clients see it, with what was asked for of the model."""
        item = cast("CollabAgentToolCallItem", super().item(call, cwd))
        services = self.context.services
        effort = call.arguments.get("reasoning_effort")
        if effort is None and services is not None:
            effort = services.facts.reasoning_effort
        model = str(call.arguments.get("model") or "")
        return {**item, "model": model, "reasoningEffort": None if effort is None else str(effort)}

    async def act(self, crew: Crew, call: ToolCall) -> Done:
        """Start it and give it its task; it works on while the model goes on."""
        return await crew.spawn(call.arguments)


class SendInput(AgentTool):
    """Gives an agent more to do."""

    name = "send_input"
    shown_as = "sendInput"
    form = SEND

    async def act(self, crew: Crew, call: ToolCall) -> Done:
        """Send it; a running agent reads it with its next request."""
        return await crew.send(call.arguments)


class WaitAgent(AgentTool):
    """Waits for agents."""

    name = "wait_agent"
    shown_as = "wait"
    form = WAIT

    def targets(self, call: ToolCall) -> list[str]:
        """All that are waited for."""
        return [str(each) for each in cast("list[object]", call.arguments.get("targets", ()))]

    async def act(self, crew: Crew, call: ToolCall) -> Done:
        """Wait until one of them has come to an end."""
        return await crew.wait(self.targets(call), call.arguments.get("timeout_ms"))


class CloseAgent(AgentTool):
    """Ends an agent."""

    name = "close_agent"
    shown_as = "closeAgent"
    form = CLOSE

    async def act(self, crew: Crew, call: ToolCall) -> Done:
        """End it, and all that work for it."""
        return await crew.close(self.targets(call)[0])


class ResumeAgent(AgentTool):
    """Opens a closed agent again."""

    name = "resume_agent"
    shown_as = "resumeAgent"
    form = RESUME

    async def act(self, crew: Crew, call: ToolCall) -> Done:
        """Open it as it was left."""
        return await crew.resume(self.targets(call)[0])
