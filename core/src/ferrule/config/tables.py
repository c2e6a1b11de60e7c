"""Nested tables and dotted keys, as every part of the configuration handles them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, TypeAlias, TypeGuard

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

Table: TypeAlias = dict[str, object]
KeyPath: TypeAlias = tuple[str, ...]

MISSING = object()
SETTINGS_PATH: Final[KeyPath] = ("plugins", "settings")
"""The table of tables that plugins declare."""
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_PART = re.compile(
    r"""\s*(?:"(?P<basic>(?:[^"\\]|\\.)*)"|'(?P<literal>[^']*)'|(?P<bare>[^."'=\s][^."'=]*?))"""
    r"""\s*(?P<end>\.|=|$)"""
)


def is_table(value: object) -> TypeGuard[Table]:
    """Tell whether a value is a table; TOML keys are always strings."""
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[object]]:
    """Tell whether a value is a list."""
    return isinstance(value, list)


def split_key(text: str) -> tuple[KeyPath, str | None]:
    """Split `a."b.c".d=rest` into its key parts and what follows the first `=`, if any.

    Raises:
        ValueError: The text does not begin with a key.
    """
    parts: list[str] = []
    at = 0
    while match := _PART.match(text, at):
        basic = match["basic"]
        parts.append(_unescape(basic) if basic is not None else match["literal"] or match["bare"])
        at = match.end()
        if match["end"] == "=":
            return tuple(parts), text[at:]
        if not match["end"]:
            return tuple(parts), None
    raise ValueError(text)


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    import tomllib

    return str(tomllib.loads(f'x = "{text}"')["x"])


def join_key(path: Sequence[str]) -> str:
    """Write a key path as TOML does, with quotes where they are needed."""
    return ".".join(part if _BARE.fullmatch(part) else _quoted(part) for part in path)


def _quoted(part: str) -> str:
    return '"' + part.replace("\\", "\\\\").replace('"', '\\"') + '"'


def lookup(values: Mapping[str, object], path: Sequence[str]) -> object:
    """Return the value at a key path, or `MISSING`."""
    value: object = values
    for part in path:
        if not is_table(value) or part not in value:
            return MISSING
        value = value[part]
    return value


def nest(path: Sequence[str], value: object) -> Table:
    """Build the tables around one value."""
    for part in reversed(path):
        value = {part: value}
    return value if is_table(value) else {}


def place(values: Table, path: Sequence[str], value: object) -> None:
    """Set one value in place, making the tables around it."""
    for part in path[:-1]:
        inner = values.get(part)
        if not is_table(inner):
            values[part] = inner = Table()
        values = inner
    values[path[-1]] = value


def remove(values: Table, path: Sequence[str]) -> None:
    """Take one value out in place; nothing happens where there is none."""
    holder = lookup(values, path[:-1])
    if is_table(holder):
        holder.pop(path[-1], None)


def merge(base: Mapping[str, object], top: Mapping[str, object]) -> Table:
    """Lay one table over another: tables mix, everything else is replaced."""
    merged: Table = dict(base)
    for key, value in top.items():
        below = merged.get(key)
        if is_table(value):
            merged[key] = merge(below if is_table(below) else {}, value)
        else:
            merged[key] = value
    return merged


def table_at(values: Mapping[str, object], *path: str) -> Table:
    """Return a nested table, empty where there is none."""
    value = lookup(values, path)
    return value if is_table(value) else {}


def leaves(table: Mapping[str, object], prefix: KeyPath = ()) -> Iterator[tuple[KeyPath, object]]:
    """List all values that are no tables, with where they stand."""
    for key, value in table.items():
        path = (*prefix, key)
        if is_table(value):
            yield from leaves(value, path)
        else:
            yield path, value


def texts(value: object) -> list[str]:
    """Return the strings of a list, an empty list for anything else."""
    return [item for item in value if isinstance(item, str)] if is_list(value) else []
