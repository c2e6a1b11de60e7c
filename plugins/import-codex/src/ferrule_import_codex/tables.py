"""Nested tables as TOML files hold them: walking, copying and merging plain values."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final, TypeAlias, cast

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

Table: TypeAlias = "dict[str, object]"
KeyPath: TypeAlias = "tuple[str, ...]"

_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")


def join_key(path: Sequence[str]) -> str:
    """Write a key with dots, odd parts in quotes."""
    return ".".join(part if _BARE.fullmatch(part) else json.dumps(part) for part in path)


def as_table(value: object) -> Table | None:
    """Return a value as a table if it is one."""
    return cast("Table", value) if isinstance(value, dict) else None


def leaves(value: Mapping[str, object], path: KeyPath = ()) -> Iterator[tuple[KeyPath, object]]:
    """Yield every key that holds no table, and every empty table."""
    for key, inner in value.items():
        table = as_table(inner)
        if table:
            yield from leaves(table, (*path, key))
        else:
            yield (*path, key), inner


def lookup(table: Mapping[str, object], path: Sequence[str]) -> object | None:
    """Return what stands at a key, or None."""
    holder: object = table
    for part in path:
        inner = as_table(holder)
        if inner is None or part not in inner:
            return None
        holder = inner[part]
    return holder


def place(table: Table, path: Sequence[str], value: object) -> None:
    """Set a key, making the tables around it."""
    holder = table
    for part in path[:-1]:
        inner = as_table(holder.setdefault(part, {}))
        if inner is None:
            inner = holder[part] = {}
        holder = inner
    holder[path[-1]] = value


def remove(table: Table, path: Sequence[str]) -> None:
    """Take a key out, and the tables that are empty without it."""
    inner = as_table(table.get(path[0]))
    if len(path) == 1 or inner is None:
        table.pop(path[0], None)
        return
    remove(inner, path[1:])
    if not inner:
        del table[path[0]]
