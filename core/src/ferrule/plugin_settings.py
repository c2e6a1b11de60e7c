"""What each plugin is given of the configuration: its own table, checked by its own model.

The manager makes one per configuration and hands every plugin its context through it. Without a
table of the user nothing is imported: the defaults are known from the probe.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, cast

from ferrule.catalog import BUILT_IN_DISTRIBUTIONS
from ferrule.config.tables import MISSING, join_key, lookup
from ferrule.frozen import freeze
from ferrule.isolation.choice import is_isolated
from ferrule.trust import Standing
from ferrule_hookspecs.slots import SETTINGS_GROUP

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ferrule.entry import Entry
    from ferrule.held_runtime import Hold
    from ferrule.settings_declaration import Declaration
    from ferrule.settings_model import SettingsModel
    from ferrule_hookspecs.host import Config
    from ferrule_hookspecs.plugins import PluginContext
    from ferrule_hookspecs.serving import RpcMethod


class PluginSettings:
    """The settings of every plugin under one configuration."""

    def __init__(
        self,
        standings: Sequence[Standing],
        values: Mapping[str, object],
        load: Callable[[Entry], object],
    ) -> None:
        """Keep what is declared by plugins that are in use; `load` imports an entry."""
        self._standings = standings
        self._values = values
        self._load = load
        self._declared = in_use(standings)
        self._known: dict[str, Mapping[str, object]] = {}

    def check(self, config: Config) -> None:
        """Read the table of every plugin in use.

        Raises:
            ConfigError: One is wrong; says where.
        """
        if not self._declared:
            return
        from ferrule.settings_reading import WrongSettingsError

        for distribution in self._declared:
            try:
                self._of(distribution)
            except WrongSettingsError as error:
                raise error.placed(config) from None

    def given(self, entry: Entry, context: PluginContext) -> PluginContext:
        """Return the context as one plugin sees it.

        What its slot or tool is configured with elsewhere lies on top of its own table. Strangers
        change nothing of the configuration but their own table.

        Raises:
            ConfigError: Its table is wrong.
        """
        declaration = self._declared.get(entry.distribution)
        if context.runtime is not None and entry.distribution not in BUILT_IN_DISTRIBUTIONS:
            from ferrule.held_runtime import held_runtime

            runtime = held_runtime(context.runtime, self._hold(entry))
            context = context._replace(runtime=runtime)
        if declaration is None:
            return context
        own = self._of(entry.distribution)
        if context.settings:
            own = cast("Mapping[str, object]", freeze({**own, **context.settings}))
        return context._replace(settings=own)

    def held(self, entry: Entry, method: RpcMethod) -> RpcMethod:
        """Return an RPC method, with strangers held to their table in what they are called with."""
        if entry.distribution in BUILT_IN_DISTRIBUTIONS:
            return method
        from ferrule.held_kernel import held_method

        return held_method(method, self._hold(entry))

    def _hold(self, entry: Entry) -> Hold:
        from ferrule.held_runtime import Hold

        declaration = self._declared.get(entry.distribution)
        table = declaration.path if declaration else None
        return Hold(f"{entry.distribution} {entry.version}", table)

    def _of(self, distribution: str) -> Mapping[str, object]:
        if distribution not in self._known:
            read = freeze(self._read(self._declared[distribution]))
            self._known[distribution] = cast("Mapping[str, object]", read)
        return self._known[distribution]

    def _read(self, declaration: Declaration) -> Mapping[str, object]:
        from ferrule.settings_reading import read_settings

        return read_settings(declaration, self._values, lambda table: self._ask(declaration, table))

    @cached_property
    def _apart(self) -> set[str]:
        """The distributions with tools that run in a process of their own."""
        entries = (standing.entry for standing in self._standings)
        return {entry.distribution for entry in entries if is_isolated(entry, self._values)}

    def _ask(self, declaration: Declaration, table: Mapping[str, object]) -> Mapping[str, object]:
        """Have the model look at a table, in this process only where the plugin runs in it."""
        if declaration.entry.distribution in self._apart:
            from ferrule.settings_apart import values_apart

            return values_apart(declaration.entry, table)
        from ferrule.settings_model import values_in_time

        return values_in_time(cast("SettingsModel", self._load(declaration.entry)), table)


def in_use(standings: Sequence[Standing]) -> dict[str, Declaration]:
    """List what is declared by distributions of which something else is in use, by their names."""
    declaring = [s.entry for s in standings if s.entry.group == SETTINGS_GROUP and _ok(s)]
    if not declaring:
        return {}
    from ferrule.settings_declaration import declaration_of

    used = {s.entry.distribution for s in standings if s.entry.group != SETTINGS_GROUP and _ok(s)}
    found = (declaration_of(entry) for entry in declaring if entry.distribution in used)
    return {each.entry.distribution: each for each in found if each is not None}


def settled(standings: Sequence[Standing], values: Mapping[str, object]) -> list[Standing]:
    """Take out of use second tables of a distribution, and plugins that wait for settings.

    A plugin that cannot do without settings, and has no table yet, is no mistake of the user:
    it is not used until it is configured.
    """
    declared: dict[str, Entry] = {}
    for standing in standings:
        if standing.entry.group == SETTINGS_GROUP and _ok(standing):
            declared.setdefault(standing.entry.distribution, standing.entry)
    if not declared:
        return list(standings)
    waiting = {
        name: reason for name, entry in declared.items() if (reason := _waits_for(entry, values))
    }
    return [_settled(standing, declared, waiting) for standing in standings]


def _settled(
    standing: Standing, declared: Mapping[str, Entry], waiting: Mapping[str, str]
) -> Standing:
    entry = standing.entry
    if not _ok(standing):
        return standing
    first = declared.get(entry.distribution)
    if entry.group == SETTINGS_GROUP:
        if first in (None, entry):
            return standing
        reason = (
            f"{entry.distribution} declares two tables of settings, and only {first.name!r} counts;"
            " its parts share one"
        )
        return Standing(entry, "broken", reason)
    reason = waiting.get(entry.distribution, "")
    return Standing(entry, "broken", reason) if reason else standing


def _waits_for(entry: Entry, values: Mapping[str, object]) -> str:
    """Say what has to be configured before a plugin can be used; empty when nothing has."""
    from ferrule.settings_declaration import declaration_of

    declaration = declaration_of(entry)
    if declaration is None or not declaration.unset:
        return ""
    if lookup(values, declaration.path) is not MISSING:
        return ""
    keys = [
        f"`{join_key((*declaration.path, *each.path))}`"
        for each in declaration.unset
        if each.is_missing
    ]
    if keys:
        return f"it has to be configured first: set {' and '.join(keys)} in config.toml"
    table = join_key(declaration.path)
    return f"it has to be configured first: [{table}] in config.toml: {declaration.unset[0].text}"


def _ok(standing: Standing) -> bool:
    return standing.state == "active"
