"""The plugin manager: the one place that turns an index and a configuration into plugins.

The kernel makes one per configuration. It settles which plugins may be used, says once what may
not and why, and hands out tools, drivers of slots, and the dispatcher of hooks. Nothing is imported
before it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from copy import copy
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, cast

from ferrule.catalog import distribution_of
from ferrule.dispatcher import Dispatcher
from ferrule.editions import load_entry
from ferrule.guarding import absent_guards
from ferrule.isolation.choice import is_isolated, vain_choices
from ferrule.plugin_settings import PluginSettings
from ferrule.survey import survey
from ferrule.tool_table import tool_table
from ferrule.trust import governance_of, is_required, required_faults
from ferrule_hookspecs.errors import PluginError
from ferrule_hookspecs.slots import HOOK_GROUP, TOOL_GROUP

if TYPE_CHECKING:
    from ferrule.entry import Entry
    from ferrule.index import Index
    from ferrule.trust import Standing
    from ferrule_hookspecs.plugins import PluginContext
    from ferrule_hookspecs.tools import Tool

_FIRST_TOOLS: Final = ("exec_command", "write_stdin", "update_plan", "apply_patch", "view_image")
"""Models do best with these first; the rest follows by name, so that prompts stay the same."""


class PluginManager:
    """Plugins as one configuration allows them."""

    _whole: PluginManager | None = None

    def __init__(
        self,
        index: Index,
        config_values: Mapping[str, object],
        *,
        report: Callable[[str], None],
        barred: Mapping[tuple[str, str, str], Entry] = MappingProxyType({}),
    ) -> None:
        """Judge every entry, probe what may be used and was not probed yet, and say what fails.

        Args:
            index: What is installed.
            config_values: The effective configuration.
            report: Told each fault once, in a sentence.
            barred: Entries that count in the place of the index's, by their keys.

        Raises:
            ConfigError: The table `plugins` cannot be obeyed.
        """
        self._report = report
        self._values = config_values
        self._loaded: dict[tuple[str, str], object] = {}
        self._governance = governance_of(config_values)
        entries = [barred.get(entry.key, entry) for entry in index.all_entries()]
        self.standings: Sequence[Standing] = survey(index, config_values, entries)
        self._active = {
            (s.entry.group, s.entry.name): s.entry for s in self.standings if s.state == "active"
        }
        self._announce()

    @cached_property
    def settings(self) -> PluginSettings:
        """What each plugin is given of the configuration."""
        return PluginSettings(
            self.standings, self._values, lambda entry: self.load(entry.group, entry.name)
        )

    @cached_property
    def hooks(self) -> Dispatcher:
        """Calls the hook modules."""
        entries = [entry for (group, _), entry in self._active.items() if group == HOOK_GROUP]
        absent = absent_guards(self.standings, self._governance)
        return Dispatcher(entries, self._report, absent_guards=absent, given=self.settings.given)

    @cached_property
    def _apart(self) -> Mapping[str, Entry]:
        """The tools that run in a process of their own, by name; they are never imported here."""
        usable = self._active.values()
        return {entry.name: entry for entry in usable if is_isolated(entry, self._values)}

    def only(self, keys: Collection[tuple[str, str]]) -> PluginManager:
        """Return the same manager with some of its entries."""
        part = copy(self)
        part._whole = self._whole or self
        part._active = {key: entry for key, entry in self._active.items() if key in keys}
        part.__dict__.pop("_apart", None)
        part.hooks = self.hooks.only([name for group, name in keys if group == HOOK_GROUP])
        return part

    def usable(self) -> Sequence[Entry]:
        """List the entries that may be used."""
        return list(self._active.values())

    def names(self, group: str) -> list[str]:
        """List the usable names of a group."""
        return sorted(name for found, name in self._active if found == group)

    def tools(self, context: PluginContext) -> list[Tool]:
        """Make every tool of this process, in an order that never changes; report what fails."""
        names = [name for name in self.names(TOOL_GROUP) if self._is_tool_enabled(name)]
        names = [name for name in names if name not in self._apart]
        made = [self._make_tool(name, context) for name in sorted(names, key=_tool_rank)]
        return [tool for tool in made if tool is not None]

    async def session_tools(self, context: PluginContext) -> list[Tool]:
        """Make every usable tool, those included that plugins offer at run time by a hook."""
        tools = {tool.name: tool for tool in self.tools(context)}
        for plugin, offered in await self.hooks.gather("ferrule_tools", context=context):
            entry = self._active[HOOK_GROUP, plugin]
            for tool in cast("Sequence[Tool]", offered):
                if fault := self._offer_fault(entry, tool, tools):
                    self._report(f"{entry.label}: {fault}")
                elif self._is_tool_enabled(tool.name) and self._is_willing(entry, tool):
                    tools[tool.name] = tool
        if apart := [each for name, each in self._apart.items() if self._is_tool_enabled(name)]:
            from ferrule.isolation.tools import IsolatedTools

            whole = self._whole or self  # which has the sandboxes, too
            opener = IsolatedTools(whole, context, self._report, self._tool_context)
            tools.update({tool.name: tool for tool in await opener.open(apart)})
        return sorted(tools.values(), key=lambda tool: _tool_rank(tool.name))

    def driver(self, group: str, name: str, context: PluginContext) -> object:
        """Make the driver of a slot that is chosen by name.

        Raises:
            PluginError: It is not there, may not be used, or cannot be made; says what to do.
        """
        from ferrule.slots import make_driver

        entry = self.entry(group, name)
        return make_driver(entry, self.settings.given(entry, context))

    def load(self, group: str, name: str) -> object:
        """Import what a usable entry names, without making anything of it.

        Raises:
            PluginError: It is not there, may not be used, or cannot be imported.
        """
        if (group, name) in self._loaded:
            return self._loaded[group, name]
        entry = self.entry(group, name)
        if group == TOOL_GROUP and name in self._apart:
            raise PluginError(f"{entry.label} runs in a process of its own, and is not loaded here")
        try:
            loaded = load_entry(entry)
        except Exception as error:
            raise PluginError(_failure(entry, "cannot be imported", error)) from error
        self._loaded[group, name] = loaded
        return loaded

    def required_missing(self) -> list[str]:
        """Say which required plugins cannot be relied on; any of them must stop the run."""
        return required_faults(self.standings, self._governance)

    def requires(self, entry: Entry) -> bool:
        """Tell whether the configuration requires a plugin."""
        return is_required(entry, self._governance)

    def _announce(self) -> None:
        """Say once what is not used, unless the user switched it off."""
        for text in vain_choices((s.entry for s in self.standings), self._values):
            self._report(text)
        told: set[tuple[str, str]] = set()
        for entry, state, reason in self.standings:
            if state in {"active", "disabled"} or (entry.distribution, reason) in told:
                continue
            told.add((entry.distribution, reason))
            self._report(f"{entry.label} is not used: it is {state}: {reason}; {entry.mend}")

    def _offer_fault(self, entry: Entry, tool: object, tools: Mapping[str, Tool]) -> str:
        """Say why a tool that a hook offers is left out; empty when it is not."""
        from ferrule_hookspecs.tools import Tool

        if not isinstance(tool, Tool):
            return f"hook ferrule_tools offered {type(tool).__name__}, which is not a Tool"
        owner = distribution_of(TOOL_GROUP, tool.name)
        is_taken = tool.name in tools or tool.name in self._apart
        if is_taken or owner not in {None, entry.distribution}:
            return f"the tool {tool.name!r} is left out, as the name is taken; it needs another one"
        return ""

    def _is_willing(self, entry: Entry, tool: Tool) -> bool:
        try:
            return tool.is_enabled()
        except Exception as error:  # noqa: BLE001 -- a tool may raise anything
            self._report(_failure(entry, f"cannot offer {tool.name!r}", error))
            return False

    def _is_tool_enabled(self, name: str) -> bool:
        return tool_table(self._values, name).get("enabled") is not False

    def _tool_context(self, name: str, context: PluginContext) -> PluginContext:
        settings = tool_table(self._values, name) or context.settings
        entry = self._active[TOOL_GROUP, name]
        return self.settings.given(entry, context._replace(settings=settings))

    def _make_tool(self, name: str, context: PluginContext) -> Tool | None:
        entry = self._active[TOOL_GROUP, name]
        try:
            factory = cast("Callable[[PluginContext], Tool]", self.load(TOOL_GROUP, name))
            tool = factory(self._tool_context(name, context))
        except PluginError as error:
            self._report(str(error))
        except Exception as error:  # noqa: BLE001 -- a tool's constructor may raise anything
            self._report(_failure(entry, "cannot be made", error))
        else:
            return tool if self._is_willing(entry, tool) else None
        return None

    def entry(self, group: str, name: str) -> Entry:
        """Return a usable entry.

        Raises:
            PluginError: It is not there or may not be used; says what to do.
        """
        entry = self._active.get((group, name))
        if entry is not None:
            return entry
        for standing in self.standings:
            if (standing.entry.group, standing.entry.name) == (group, name):
                raise PluginError(
                    f"{standing.entry.label} cannot be used: it is {standing.state}: "
                    f"{standing.reason}"
                )
        raise PluginError(self._not_installed(group, name))

    def _not_installed(self, group: str, name: str) -> str:
        from difflib import get_close_matches

        noun = group.partition(".")[2]
        names = self.names(group)
        text = f"no plugin {name!r} is installed for {noun}"
        owner = distribution_of(group, name)
        close = get_close_matches(name, names, n=1)
        if owner is not None:
            text += f"; install it with: pip install {owner}"
        elif close:
            text += f"; did you mean {close[0]!r}?"
        return f"{text} (installed: {', '.join(names) or 'none'})"


def _tool_rank(name: str) -> tuple[int, str]:
    is_first = name in _FIRST_TOOLS
    return _FIRST_TOOLS.index(name) if is_first else len(_FIRST_TOOLS), name


def _failure(entry: Entry, what: str, error: BaseException) -> str:
    cause = str(error).strip().partition("\n")[0]
    return f"{entry.label} {what}: {type(error).__name__}: {cause}; {entry.mend}"
