"""The agents of one session, and how many there are below the root."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from json import dumps
from typing import TYPE_CHECKING, Final, NamedTuple
from weakref import WeakValueDictionary

import anyio

from ferrule_agents.agent import Agent, State
from ferrule_agents.arguments import task
from ferrule_agents.attachments import FILES, attached
from ferrule_agents.nicknames import nickname
from ferrule_agents.roles import child_options
from ferrule_agents.settings import DEFAULT, AgentSettings
from ferrule_hookspecs.errors import FerruleError, PluginError, ToolError
from ferrule_hookspecs.services import ChildOptions

if TYPE_CHECKING:
    from ferrule_agents.settings import Role
    from ferrule_hookspecs.items import CollabAgentState, UserInput
    from ferrule_hookspecs.plugins import PluginContext, Runtime
    from ferrule_hookspecs.services import SessionServices

TOOLS: Final = ("spawn_agent", "send_input", "wait_agent", "close_agent", "resume_agent")
_SHORTEST_S: Final = 10.0
_USUAL_S: Final = 30.0
_LONGEST_S: Final = 3600.0


class Done(NamedTuple):
    """What a call came to.

    Attributes:
        answer: What the model reads, as JSON.
        receivers: The threads it was about.
        states: How they stand, as clients know it.
        model: With an agent that was started: its model.
        reasoning_effort: With an agent that was started: its reasoning effort.
    """

    answer: Mapping[str, object]
    receivers: list[str]
    states: dict[str, CollabAgentState]
    model: str | None = None
    reasoning_effort: str | None = None


class Tree:
    """All open agents below one root."""

    def __init__(self) -> None:
        self.names: list[str] = []


class Crew:
    """The agents that one session started."""

    def __init__(self, context: PluginContext, services: SessionServices, runtime: Runtime) -> None:
        self._context = context
        self._services = services
        self._runtime = runtime
        self._settings = AgentSettings.read(context)
        self._depth = len(services.lineage) + 1
        root = services.lineage[0] if services.lineage else context.thread_id
        self._tree = _trees.setdefault(root, Tree())
        self._agents: dict[str, Agent] = {}
        self._closed: set[str] = set()

    @staticmethod
    def of(context: PluginContext) -> Crew:
        """Return the crew of a session."""
        services, runtime = context.services, context.runtime
        if services is None or runtime is None:
            raise PluginError("agents can only be started in a session")
        crew = _crews.get(context.thread_id)
        if crew is None:
            crew = _crews[context.thread_id] = Crew(context, services, runtime)
        return crew

    @staticmethod
    def disband(context: PluginContext) -> None:
        """Forget the crew of a session that is closed."""
        _crews.pop(context.thread_id, None)

    async def spawn(self, arguments: Mapping[str, object]) -> Done:
        """Start an agent on a task."""
        content = await self._task(arguments)
        name = str(arguments.get("agent_type") or "")
        role = self._role(name or DEFAULT)
        options = child_options(name, role, self._settings, self._context, arguments)
        agent = await self._open(options, role.nicknames)
        try:
            await agent.begin(content)
        except BaseException:  # an agent that nobody knows of would work on
            with anyio.CancelScope(shield=True):
                await agent.close()
            raise
        thread = agent.session.thread
        facts = agent.session.facts
        return Done(
            {"agent_id": agent.id, "nickname": thread.get("agentNickname")},
            [agent.id],
            {agent.id: State("pendingInit").wire},
            facts.model,
            facts.reasoning_effort,
        )

    async def send(self, arguments: Mapping[str, object]) -> Done:
        """Give an agent more to do."""
        content = await self._task(arguments)
        agent = self._known(str(arguments["target"]))
        if arguments.get("interrupt"):
            await agent.interrupt()
        await agent.begin(content)
        return Done(
            {"agent_id": agent.id, "status": agent.state.told},
            [agent.id],
            {agent.id: agent.state.wire},
        )

    async def wait(self, targets: Sequence[str], timeout_ms: object) -> Done:
        """Wait until one of some agents has come to an end, and tell of all that have."""
        if not targets:
            raise ToolError("name at least one agent to wait for")
        limit_s = _wait_s(timeout_ms)
        waited = [self._agents[each] for each in targets if each in self._agents]
        if len(waited) == len(targets):
            with anyio.move_on_after(limit_s):
                await _first_end(waited)
        states = {each: self._state(each) for each in targets}
        final = {each: state for each, state in states.items() if state.is_final}
        return Done(
            {"status": {each: state.told for each, state in final.items()}, "timed_out": not final},
            list(targets),
            {each: state.wire for each, state in final.items()},
        )

    async def close(self, target: str) -> Done:
        """End an agent."""
        agent = self._known(target)
        before = agent.state
        await agent.close()
        return Done({"previous_status": before.told}, [target], {target: State("shutdown").wire})

    async def resume(self, target: str) -> Done:
        """Open a closed agent again."""
        agent = self._agents.get(target)
        if agent is None:
            agent = await self._open(ChildOptions(thread_id=target))
        return Done({"status": agent.state.told}, [target], {target: agent.state.wire})

    async def _task(self, arguments: Mapping[str, object]) -> list[UserInput]:
        content = task(arguments)
        if not any(part["type"] in FILES for part in content):
            return content
        return await attached(content, self._services.files(), self._services.facts.cwd)

    async def _open(self, options: ChildOptions, nicknames: Sequence[str] = ()) -> Agent:
        """Open a thread for an agent, where there is room for one."""
        most = self._settings.max_threads
        if self._depth > self._settings.max_depth:
            raise ToolError(
                f"agents may be {self._settings.max_depth} deep (agents.max_depth): do it yourself"
            )
        if len(self._tree.names) >= most:
            raise ToolError(
                f"agent thread limit reached: {most} agents are open (agents.max_threads); close"
                " one that has finished with close_agent, or do it yourself"
            )
        if not options.thread_id:
            options = options._replace(name=nickname(self._tree.names, nicknames))
        held = options.name or options.thread_id
        self._tree.names.append(held)
        if self._depth >= self._settings.max_depth:
            options = options._replace(hidden_tools=TOOLS)
        try:
            session = await self._services.open_child(options)
        except BaseException:
            self._tree.names.remove(held)
            raise
        state = State("completed") if options.thread_id else State("pendingInit")
        agent = self._agents[session.thread["id"]] = Agent(session, self._tell, state)

        async def follow() -> None:
            try:
                await agent.follow()
            finally:
                self._tree.names.remove(held)
                self._agents.pop(agent.id, None)
                self._closed.add(agent.id)

        self._runtime.start(follow, f"agent {held}")
        return agent

    async def _tell(self, agent_id: str, state: State) -> None:
        """Tell the session's model that an agent has come to an end."""
        said = dumps({"agent_id": agent_id, "status": state.told}, ensure_ascii=False)
        text = f"<subagent_notification>\n{said}\n</subagent_notification>"
        part = {"type": "input_text", "text": text}
        with suppress(FerruleError):  # the session is closing; there is no one to tell
            await self._services.inject([{"type": "message", "role": "user", "content": [part]}])

    def _state(self, target: str) -> State:
        agent = self._agents.get(target)
        if agent is not None:
            return agent.state
        return State("shutdown" if target in self._closed else "notFound")

    def _known(self, target: str) -> Agent:
        agent = self._agents.get(target)
        if agent is None:
            raise ToolError(
                f"there is no open agent {target!r}; spawn_agent returned the ids of those you"
                " started, and resume_agent opens one that was closed"
            )
        return agent

    def _role(self, name: str) -> Role:
        role = self._settings.roles.get(name)
        if role is None:
            known = ", ".join(self._settings.roles)
            raise ToolError(f"there is no agent_type {name!r}; use one of {known}")
        return role


async def _first_end(agents: Sequence[Agent]) -> None:
    async with anyio.create_task_group() as group:

        async def watch(agent: Agent) -> None:
            await agent.ended()
            group.cancel_scope.cancel()

        for agent in agents:
            group.start_soon(watch, agent)


def _wait_s(timeout_ms: object) -> float:
    if not isinstance(timeout_ms, (int, float)):
        return _USUAL_S
    if not timeout_ms > 0:  # also what is no number
        raise ToolError("timeout_ms must be greater than zero")
    return min(max(timeout_ms, _SHORTEST_S * 1000), _LONGEST_S * 1000) / 1000


_crews: dict[str, Crew] = {}
_trees: WeakValueDictionary[str, Tree] = WeakValueDictionary()
