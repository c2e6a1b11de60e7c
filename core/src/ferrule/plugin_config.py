"""The configuration together with what installed plugins declare about theirs.

Whoever reads a configuration for a run goes through here: a project's file may set what a plugin
opens to projects, and keys that no plugin knows are told. Nothing is imported; where no installed
plugin has settings and the user has none for them, it costs one look at the index.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from ferrule.config.check import suggestion
from ferrule.config.provenance import placed
from ferrule.config.tables import (
    MISSING,
    SETTINGS_PATH,
    KeyPath,
    is_table,
    join_key,
    leaves,
    table_at,
)
from ferrule_hookspecs.errors import ConfigError
from ferrule_hookspecs.slots import SETTINGS_GROUP

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from ferrule.config.provenance import LoadedConfig
    from ferrule.index import Index
    from ferrule.settings_declaration import Declaration


def with_plugins(
    load: Callable[[frozenset[KeyPath]], LoadedConfig], index: Index, *, strict: bool = False
) -> LoadedConfig:
    """Read the configuration and say what of the plugins' tables nobody knows.

    Args:
        load: Reads it; given the keys that a trusted project's file may set beside the usual ones.
        index: What is installed.
        strict: Whether an unknown key is an error.

    Raises:
        ConfigError: It cannot be used.
    """
    likely = project_keys(index)
    config = load(likely)
    tables = table_at(config.values, *SETTINGS_PATH)
    if not tables and not index.entries(SETTINGS_GROUP):
        return config
    declared = declarations(index, config.values)
    opened = frozenset(key for each in declared.values() for key in each.project_keys())
    if opened != likely:  # something was looked at for the first time, or may not be used
        config = load(opened)
    problems = _complaints(config, declared, strict=strict)
    said = [config.values, *(layer.values for layer in (*config.layers, *config.ignored))]
    secrets = {key for each in said for key in _secrets(each, declared)}
    return replace(config, warnings=(*config.warnings, *problems), secrets=sorted(secrets))


def declarations(index: Index, values: Mapping[str, object]) -> dict[str, Declaration]:
    """List what usable plugins declare, by table; what was never probed is probed, in a child."""
    entries = index.entries(SETTINGS_GROUP)
    if not entries:
        return {}
    from ferrule.settings_declaration import declaration_of
    from ferrule.trust import governance_of, judge, with_faults

    found = judge(entries, governance_of(values), contract_version=index.contract_version)
    index.probe([s.entry for s in found if s.state == "active" and s.entry.probe is None])
    probed = {(e.name, e.location): e for e in index.entries(SETTINGS_GROUP)}
    usable = with_faults([s._replace(entry=probed[s.entry.name, s.entry.location]) for s in found])
    declared = (declaration_of(s.entry) for s in usable if s.state == "active")
    return {each.entry.name: each for each in declared if each is not None}


def check_tables(config: LoadedConfig, index: Index, names: Sequence[str] | None = None) -> None:
    """Have tables of installed plugins checked, each by its model in a process of its own.

    For what changes the file, or looks at it, where no plugin is imported.

    Args:
        config: The configuration.
        index: What is installed.
        names: The tables; without it, all that are written.

    Raises:
        ConfigError: One is wrong; says where.
    """
    from ferrule.settings_apart import values_apart
    from ferrule.settings_reading import WrongSettingsError, read_settings

    wanted = table_at(config.values, *SETTINGS_PATH) if names is None else names
    for name, declaration in declarations(index, config.values).items() if wanted else ():
        if name not in wanted:
            continue
        try:
            read_settings(declaration, config.values, partial(values_apart, declaration.entry))
        except WrongSettingsError as error:
            raise error.placed(config) from None


def project_keys(index: Index) -> frozenset[KeyPath]:
    """List what plugins open to a trusted project's file, as far as it is known.

    What may not be used counts here, too: before the configuration is read, nobody knows.
    """
    entries = index.entries(SETTINGS_GROUP)
    if not entries:
        return frozenset()
    from ferrule.settings_declaration import declaration_of

    declared = (declaration_of(entry) for entry in entries)
    return frozenset(key for each in declared if each is not None for key in each.project_keys())


def masked(value: object, path: KeyPath, secrets: Sequence[KeyPath]) -> object:
    """Return a value with a word in the place of every secret in it."""
    if value is MISSING or not secrets:
        return value
    if any(path[: len(secret)] == secret for secret in secrets):
        return "(set)"
    if not is_table(value):
        return value
    return {key: masked(each, (*path, key), secrets) for key, each in value.items()}


def _complaints(
    config: LoadedConfig, declared: Mapping[str, Declaration], *, strict: bool
) -> list[str]:
    told: list[str] = []
    for name, table in table_at(config.values, *SETTINGS_PATH).items():
        declaration = declared.get(name)
        if declaration is None:
            told.append(_without_owner(config, name, declared))
            continue
        if not is_table(table):
            continue
        for problem in declaration.unknown(table):
            if problem.is_unknown and strict:
                raise ConfigError(placed(problem, config))
            if problem.is_unknown:
                text = f"{problem.text} is ignored by {declaration.owner}{problem.hint}"
                told.append(f"{_place(config, problem.path)}: {text}")
    return told


def _without_owner(config: LoadedConfig, name: str, declared: Mapping[str, Declaration]) -> str:
    path = (*SETTINGS_PATH, name)
    hint = suggestion(name, declared, SETTINGS_PATH)
    return (
        f"{_place(config, path)}: `{join_key(path)}` belongs to no plugin that is in use; it is"
        f" kept, and counts when its plugin is there again{hint}"
    )


def _place(config: LoadedConfig, path: KeyPath) -> str:
    origin = config.origin(join_key(path))
    return f"{origin.file}:{origin.line}" if origin.file else origin.layer


def _secrets(
    values: Mapping[str, object], declared: Mapping[str, Declaration]
) -> Iterator[KeyPath]:
    """List what must not be shown; where no schema tells, that is every value of the table."""
    for name, table in table_at(values, *SETTINGS_PATH).items():
        if not is_table(table):
            continue
        declaration = declared.get(name)
        for keys, _ in leaves(table):
            if declaration is None or declaration.hides(keys):
                yield (*SETTINGS_PATH, name, *keys)
