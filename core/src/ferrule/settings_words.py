"""Says what a key of a plugin's table is: its type, its default, whose it is.

For `ferrule config explain`; read from the schema, so nothing of the plugin is imported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ferrule.config.tables import MISSING, KeyPath, Table, is_list, is_table, lookup

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ferrule.settings_declaration import Declaration

_KINDS: Final[Mapping[object, str]] = {
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "a table",
}


def kind_of(declaration: Declaration, field: Table) -> str:
    """Say in words what a field takes."""
    kinds: list[str] = []
    for option in declaration.options(field):
        choices = option.get("enum")
        if is_list(choices):
            kinds.append("one of " + ", ".join(f"`{choice}`" for choice in choices))
        elif "const" in option:
            kinds.append(f"`{option['const']}`")
        elif option.get("type") in _KINDS:
            kinds.append(_KINDS[option["type"]])
    return " or ".join(dict.fromkeys(kinds)) or "any value"


def default_of(declaration: Declaration, keys: KeyPath) -> object:
    """Return what holds for a key that nobody set; `MISSING` where nothing does."""
    if declaration.defaults is not None:
        value = lookup(declaration.defaults, keys)
    else:
        value = (declaration.field(keys) or {}).get("default", MISSING)
    return MISSING if value is None else _masked(declaration, keys, value)


def _masked(declaration: Declaration, keys: KeyPath, value: object) -> object:
    """Take the secrets out of a default, which is shown before any file is read."""
    if is_table(value):
        return {key: _masked(declaration, (*keys, key), each) for key, each in value.items()}
    is_hidden = value not in (None, MISSING) and declaration.hides(keys)
    return "(set)" if is_hidden else value


def field_facts(declaration: Declaration, keys: KeyPath) -> dict[str, object]:
    """Describe a key for programs."""
    field = declaration.field(keys) or {}
    description = field.get("description")
    return {
        "plugin": declaration.entry.distribution,
        "version": declaration.entry.version,
        "type": kind_of(declaration, field),
        "description": description if isinstance(description, str) else "",
        "isSecret": declaration.is_secret(keys),
        "projectMaySet": (*declaration.path, *keys[:1]) in set(declaration.project_keys()),
    }


def field_line(declaration: Declaration, keys: KeyPath) -> str:
    """Describe a key for people, in one line."""
    facts = field_facts(declaration, keys)
    parts = [f"{facts['type']}, of {declaration.owner}"]
    if facts["isSecret"]:
        parts.append("never shown")
    if facts["projectMaySet"]:
        parts.append("a trusted project's file may set it")
    text = "; ".join(parts)
    description = " ".join(str(facts["description"]).split())
    return f"{text}: {description}" if description else text


def with_defaults(declaration: Declaration, keys: KeyPath, value: object) -> object:
    """Return a value as the plugin has it: with defaults in the place of what nobody set."""
    default = default_of(declaration, keys)
    if value is MISSING:
        return default
    if is_table(value) and is_table(default):
        merged = dict(default)
        for key, each in value.items():
            merged[key] = with_defaults(declaration, (*keys, key), each)
        return merged
    return value
