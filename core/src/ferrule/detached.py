"""Judging calls and asking reviewers outside of any session: nothing runs, nothing is stored."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from ferrule.call_parsing import function_arguments
from ferrule.containment import contained
from ferrule.plugin_set import PluginSet
from ferrule.reloading import changes_between
from ferrule_hookspecs.errors import ConfigError, FerruleError
from ferrule_hookspecs.host import Assessment
from ferrule_hookspecs.plugins import PluginContext
from ferrule_hookspecs.slots import TOOL_GROUP

if TYPE_CHECKING:
    from collections.abc import Callable

    from ferrule.kernel import LocalKernel
    from ferrule.manager import PluginManager
    from ferrule.plugin_set import Closable
    from ferrule_hookspecs.events import Event
    from ferrule_hookspecs.host import Config
    from ferrule_hookspecs.review import ReviewContext, Reviewer, ReviewOutcome, ReviewRequest
    from ferrule_hookspecs.tools import Tool, ToolCall, TurnInfo


class Detached:
    """The judges of one configuration in one folder."""

    def __init__(self, kernel: LocalKernel, config: Config, cwd: str) -> None:
        self.config = config
        self.cwd = cwd
        self._manager = kernel.manager(config.values)
        self._notices: list[str] = []
        self._context = PluginContext(
            kernel.home,
            config.values,
            cwd,
            environ=kernel.environ,
            project_root=config.project_root,
            is_trusted=config.is_trusted,
            warn=self._notices.append,
        )
        self._plugins = PluginSet(
            self._manager, self._context, self._notices.append, config.allowed
        )
        self._tools: dict[str, Tool | None] = {}
        self._old: list[Closable] = []

    def use(self, manager: PluginManager) -> None:
        """Go on with the plugins as they are now."""
        if manager is self._manager:
            return
        changes = changes_between(self._manager.usable(), manager.usable())
        self._old += self._plugins.switch(manager, {change.key for change in changes})
        self._manager, self._tools = manager, {}

    async def assess(self, call: ToolCall, turn: TurnInfo) -> Assessment:
        """Ask the plugins that may be asked about a call that will not run."""
        tool = self._tool(call.tool)
        if tool is not None and call.form == "function":
            call = _normalised(call, tool)
        verdicts, left_out = await self._manager.hooks.assess_detached(
            "ferrule_tool_before", call=call, turn=turn, context=self._context
        )
        notices = tuple(self._notices)
        self._notices.clear()
        is_read_only = tool is not None and tool.read_only
        return Assessment(verdicts, tuple(left_out), is_read_only, notices)

    def reviewer(self, name: str) -> Reviewer:
        """Return a reviewer that is lent what it needs.

        Raises:
            FerruleError: It is not installed, or cannot work with its settings.
        """
        self._plugins.reviewer(name)
        return _Lent(self._plugins, (name,))

    async def aclose(self) -> None:
        """Close what the reviewers opened."""
        for each in self._old:
            await each.aclose()
        await self._plugins.aclose()

    def _tool(self, name: str) -> Tool | None:
        """The tool of a call, where it is installed: a call may be of another program's tool."""
        if name not in self._tools:
            self._tools[name] = None
            try:
                with contained(name):
                    made = cast("Callable[[PluginContext], Tool]", self._load(name))(self._context)
                    self._tools[name] = made
            except FerruleError:
                return None
        return self._tools[name]

    def _load(self, name: str) -> object:
        return self._manager.load(TOOL_GROUP, name)


class _Lent:
    """A reviewer that is given a model and other reviewers, where the asker brings none."""

    def __init__(self, plugins: PluginSet, path: tuple[str, ...]) -> None:
        self.name = path[-1]
        self._plugins = plugins
        self._path = path

    async def review(self, request: ReviewRequest, context: ReviewContext) -> ReviewOutcome:
        context = context._replace(
            reviewer=self._other,
            provider=context.provider or self._plugins.review_provider,
            emit=context.emit or _unheard,
        )
        with contained(f"reviewer {self.name!r}"):
            return await self._plugins.reviewer(self.name).review(request, context)

    def _other(self, name: str) -> Reviewer:
        if name in self._path:
            raise ConfigError(f"reviewers ask each other in a circle: {name!r} is asked again")
        return _Lent(self._plugins, (*self._path, name))


def _unheard(event: Event) -> None:
    """Outside of a session nobody listens."""


def _normalised(call: ToolCall, tool: Tool) -> ToolCall:
    """The call with its defaults filled in, as it would be judged in a session."""
    try:
        with contained(call.tool):
            arguments, text = function_arguments(tool.normalize(call.arguments))
    except FerruleError:
        return call
    return call._replace(arguments=arguments, text=text)
