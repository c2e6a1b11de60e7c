"""Which tools run in a process of their own: as configured, else as their author wishes.

Light, as the manager asks for every tool. `[plugins.isolation]` names distributions, plugins or
`default`, which stands for every tool that does not come with Ferrule.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ferrule.catalog import BUILT_IN_DISTRIBUTIONS
from ferrule.config.tables import table_at
from ferrule.index import is_named
from ferrule_hookspecs.slots import TOOL_GROUP

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ferrule.entry import Entry

DEFAULT: Final = "default"


def is_isolated(entry: Entry, values: Mapping[str, object]) -> bool:
    """Tell whether an entry is a tool that runs in a process of its own.

    What names it beats the default, and that beats its author's wish; where several names speak of
    it, one that isolates it is enough.

    Args:
        entry: An entry of any group; only tools are ever isolated.
        values: The effective configuration.
    """
    if entry.group != TOOL_GROUP:
        return False
    table = table_at(values, "plugins", "isolation")
    named = [said for key, said in table.items() if key != DEFAULT and is_named(entry, [key])]
    if named:
        return any(said != "none" for said in named)
    if entry.distribution not in BUILT_IN_DISTRIBUTIONS and DEFAULT in table:
        return table[DEFAULT] != "none"
    return entry.manifest.isolation == "process"


def vain_choices(entries: Iterable[Entry], values: Mapping[str, object]) -> list[str]:
    """Say what is to run apart and is not there, as a misspelt name would leave it unconfined."""
    tools = [entry for entry in entries if entry.group == TOOL_GROUP]
    return [
        f"plugins.isolation names {name!r}, but there is no such tool, so that nothing runs apart"
        " for it; names are those of: ferrule plugins list"
        for name, said in table_at(values, "plugins", "isolation").items()
        if name != DEFAULT and said != "none" and not any(is_named(tool, [name]) for tool in tools)
    ]
