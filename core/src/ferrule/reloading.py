"""Takes up, between the turns of one session, what changed of its plugins.

Nothing of the session runs while this does: calls in flight in other sessions go on with what they
began with. Tools and drivers that did not change stay the very same objects. Called by the turn
runner before every turn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import anyio

from ferrule.config_renewal import ConfigRenewal
from ferrule.containment import contained
from ferrule.editions import is_of
from ferrule.isolation.choice import is_isolated
from ferrule.recipes import configured_recipes
from ferrule.watched import own_stamp
from ferrule_hookspecs.errors import ConfigError, FerruleError, SessionRefusedError
from ferrule_hookspecs.slots import HOOK_GROUP, TOOL_GROUP

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from ferrule.entry import Entry
    from ferrule.generations import Generations
    from ferrule.manager import PluginManager
    from ferrule.plugin_set import Closable, PluginSet
    from ferrule.session_parts import SessionParts
    from ferrule_hookspecs.host import Config
    from ferrule_hookspecs.tools import Tool

_CLOSING_S: Final = 5.0
_RELOAD: Final = "reload"
_OVER: Final = "closed"
"""What a plugin that is no longer used is told: it hears nothing more of the session."""


class Change(NamedTuple):
    """An entry that is not what it was; None for one that was not, or is not, to be used."""

    before: Entry | None
    after: Entry | None

    @property
    def key(self) -> tuple[str, str]:
        """Group and name."""
        entry = self.after or self.before
        return ("", "") if entry is None else (entry.group, entry.name)


class Scope(NamedTuple):
    """What bounds what a session may take up.

    Attributes:
        config: What it was opened with.
        shares: Says which tools it may have, where not all.
    """

    config: Config
    shares: Callable[[str], bool] | None = None


class Reloading:
    """Keeps one session's plugins as they are on disk."""

    def __init__(
        self,
        generations: Generations,
        parts: SessionParts,
        plugins: PluginSet,
        manager: PluginManager,
        scope: Scope,
    ) -> None:
        """Begin with what the session was opened with."""
        self._generations = generations
        self._parts = parts
        self._plugins = plugins
        self._manager = manager
        self._refused: PluginManager | None = None
        self._scope = scope
        self._config = scope.config
        self._renewal = ConfigRenewal(generations.host, scope.config, parts.recorder.warning)

    async def take_up(self) -> None:
        """Have the session use what is there now; what cannot be used leaves all as it was."""
        if self._parts.context.table("plugins").get("reload") is False:
            return
        await self._generations.refresh()
        parts, before = self._parts, self._manager
        renewal = await self._renewal.look(parts.context.config)
        values = parts.context.config if renewal is None else renewal.values
        if renewal is not None:
            await self._generations.prepare(values)
        after = self._generations.manager(values)
        if after is before:
            return
        if after is self._refused:
            self._renewal.repeat()
            return
        config = self._config if renewal is None else renewal.config
        keys = () if renewal is None else renewal.keys
        changes = self._changes(after, config, keys)
        if changes is None:
            self._refused = after
            self._renewal.repeat()  # what does not fit now may, once plugins change again
            return
        self._manager, self._config = after, config
        parts.context = parts.context._replace(config=values)
        parts.hooks = after.hooks
        old = self._plugins.switch(after, {change.key for change in changes})
        self._replace_provider(old)
        old += await self._switch(before, after, changes)
        told = [_taken_up(keys)] if keys else []
        for text in dict.fromkeys([*told, *map(_in_words, changes)]):
            if text:
                parts.recorder.warning(text)
        await self._close(old)

    def _changes(
        self, after: PluginManager, config: Config, keys: Sequence[str]
    ) -> list[Change] | None:
        """List what differs; None where settings do not fit what is there now."""
        warn = self._parts.recorder.warning
        try:
            after.settings.check(config)
        except ConfigError as error:
            warn(f"plugins go on as they were: {error}")
            return None
        before = self._manager
        changes = changes_between(before.usable(), after.usable())
        if keys:  # where only code differs, all settings are what they were
            known = {change.key for change in changes}
            changes += [
                Change(entry, entry)
                for entry in after.usable()
                if (entry.group, entry.name) not in known
                and self._is_set_anew(after, entry, config, keys)
            ]
        return changes

    def _is_set_anew(
        self, after: PluginManager, entry: Entry, config: Config, keys: Sequence[str]
    ) -> bool:
        """Whether a plugin that is what it was must begin again, as it is configured otherwise."""
        if "mcp_servers" in keys and entry.group == HOOK_GROUP and "ferrule_tools" in entry.hooks:
            return True
        if "plugins" not in keys:
            return False
        was_isolated = is_isolated(entry, self._parts.context.config)
        if is_isolated(entry, config.values) is not was_isolated:
            return True
        context = self._parts.context._replace(settings={})
        now, before = (m.settings.given(entry, context) for m in (after, self._manager))
        return now.settings != before.settings

    async def _switch(
        self, before: PluginManager, after: PluginManager, changes: Sequence[Change]
    ) -> list[Closable]:
        """Begin anew with what has changed; returns what is no longer used."""
        if not changes:
            return []
        parts = self._parts
        for change in changes:
            if change.before is not None and change.before.group == HOOK_GROUP:
                reason = _OVER if change.after is None else _RELOAD
                await before.hooks.only([change.before.name]).observe(
                    "ferrule_session_end", context=parts.context, reason=reason
                )
        part = after.only({change.key for change in changes})
        old: list[Closable] = []
        try:
            made = {tool.name: tool for tool in await part.session_tools(parts.context)}
            old = self._replace_tools(made, [c.before for c in changes if c.before])
        except SessionRefusedError as error:  # such as a server that must be there
            parts.recorder.warning(f"tools stay as they were: {error}")
            old = self._replace_tools({}, [c.before for c in changes if c.before and not c.after])
        if any("ferrule_recipes" in entry.hooks for change in changes for entry in change if entry):
            parts.recipes = await configured_recipes(after.hooks, parts.context)
        await part.hooks.observe("ferrule_session_start", context=parts.context, source=_RELOAD)
        return old

    def _replace_tools(self, made: Mapping[str, Tool], entries: Sequence[Entry]) -> list[Closable]:
        """Put tools where those of their names were, new ones behind; returns those that go."""
        declared = {e.name for e in (*entries, *self._manager.usable()) if e.group == TOOL_GROUP}
        stale = [
            tool
            for tool in self._parts.tools.values()
            if any(_is_made_of(tool, entry, declared) for entry in entries)
        ]
        names = {tool.name for tool in stale}
        kept: dict[str, Tool] = {}
        for name, tool in self._parts.tools.items():
            if name not in names:
                kept[name] = tool
            elif name in made:
                kept[name] = made[name]
        unused: list[Closable] = list(stale)
        for name, tool in made.items():
            if name in names:
                continue
            if name not in kept and (self._scope.shares is None or self._scope.shares(name)):
                kept[name] = tool
            else:
                unused.append(tool)
        self._parts.tools = kept
        return unused

    def _replace_provider(self, old: list[Closable]) -> None:
        """Open the provider anew if it was taken away; the old one stays where that fails."""
        parts = self._parts
        if parts.provider not in old:
            return
        try:
            parts.provider = self._plugins.provider
        except FerruleError as error:
            old.remove(parts.provider)
            self._plugins.keep_provider(parts.provider)
            parts.recorder.warning(f"the model provider goes on as it was: {error}")

    async def _close(self, old: Sequence[Closable]) -> None:
        """Close what is no longer used; one that fails or hangs keeps nobody waiting for long."""
        for each in old:
            try:
                with anyio.move_on_after(_CLOSING_S), contained("a plugin that was replaced"):
                    await each.aclose()
            except FerruleError as error:
                self._parts.recorder.warning(f"closing: {error}")


def changes_between(before: Iterable[Entry], after: Iterable[Entry]) -> list[Change]:
    """List the entries whose code is not what it was, by group and name."""
    old = {(entry.group, entry.name): entry for entry in before}
    new = {(entry.group, entry.name): entry for entry in after}
    return [
        Change(old.get(key), new.get(key))
        for key in sorted({**old, **new})
        if _code(old.get(key)) != _code(new.get(key))
    ]


def _code(entry: Entry | None) -> object:
    """What stands for the code of an entry."""
    return entry and (entry.distribution, entry.location, entry.target, own_stamp(entry))


def _is_made_of(tool: Tool, entry: Entry, declared: Collection[str]) -> bool:
    """Whether a tool is an entry's; what has no entry of its own is told by where its class is."""
    if entry.group == TOOL_GROUP:
        return entry.name == tool.name
    offers = entry.group == HOOK_GROUP and "ferrule_tools" in entry.hooks
    return offers and tool.name not in declared and is_of(entry, tool)


def _taken_up(keys: Sequence[str]) -> str:
    return f"the configuration has changed: {', '.join(keys)} count from this turn on"


def _in_words(change: Change) -> str:
    """Say what happened to a distribution; empty where only its settings differ."""
    before, after = change
    if before == after:
        return ""
    if after is None:
        entry = before
        return "" if entry is None else f"{entry.distribution} {entry.version} is no longer used"
    if before is None or before.distribution != after.distribution:
        return f"{after.distribution} {after.version} is used from this turn on"
    if before.version != after.version:
        return (
            f"{after.distribution} {after.version} is used from this turn on, in the place of "
            f"{before.version}"
        )
    return f"{after.distribution} {after.version} has changed and was loaded anew"
