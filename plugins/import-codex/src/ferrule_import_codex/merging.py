"""Decides, key by key, between a configuration that is there and one that comes in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from ferrule_import_codex.tables import Table, as_table, leaves, lookup

if TYPE_CHECKING:
    from ferrule_import_codex.tables import KeyPath

_UNITS: Final = ("mcp_servers", "model_providers", "permissions", "projects")
"""Tables whose entries are taken whole: a header or a variable of one must not reach another."""


class Choice(NamedTuple):
    """What to do with the keys that come in.

    Attributes:
        taken: To be set.
        cleared: To be taken out before, as what comes in has another shape.
        present: There already, with the same value.
        kept: There already, with another value that stays.
    """

    taken: list[KeyPath]
    cleared: list[KeyPath]
    present: list[KeyPath]
    kept: list[KeyPath]


def choose(own: Table, incoming: Table, *, overwrite: bool) -> Choice:
    """Compare two configurations; what is there wins unless it shall be overwritten."""
    choice = Choice([], [], [], [])
    for path, value in leaves(incoming):
        unit = path[:2] if path[0] in _UNITS and len(path) > 1 else path
        present = lookup(own, unit)
        obstacle = _obstacle(own, path)
        if present is None and obstacle is None:
            choice.taken.append(path)
        elif present == lookup(incoming, unit) or (value == {} and as_table(present) is not None):
            choice.present.append(path)
        elif overwrite:
            choice.taken.append(path)
            cleared = obstacle or unit
            if cleared not in choice.cleared:
                choice.cleared.append(cleared)
        else:
            choice.kept.append(path)
    return choice


def _obstacle(own: Table, path: KeyPath) -> KeyPath | None:
    """Return the key that holds a value where a table would be needed."""
    for length in range(1, len(path)):
        inner = lookup(own, path[:length])
        if inner is None:
            return None
        if as_table(inner) is None:
            return path[:length]
    return None
