"""The names of a plugin, all made of the one its author chose, and whether they are free."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from ferrule_hookspecs.errors import FerruleError
from ferrule_hookspecs.slots import ALL_GROUPS

if TYPE_CHECKING:
    from ferrule_author.kinds import Kind
    from ferrule_hookspecs.host import Host

PREFIX: Final = "ferrule-"
LIBRARIES: Final = frozenset(
    {
        "ferrule",
        "ferrule-confinement",
        "ferrule-consult",
        "ferrule-core",
        "ferrule-gate",
        "ferrule-hookspecs",
        "ferrule-processes",
        "ferrule-sdk",
        "ferrule-testkit",
        "ferrule-wire",
    }
)
"""Distributions of Ferrule itself that offer no entry point."""
_NAME: Final = re.compile(r"[a-z][a-z0-9]*(?:[-_][a-z0-9]+)*")
_LONGEST: Final = 40


class Names(NamedTuple):
    """What a plugin is called where.

    Attributes:
        title: As the author chose it, with dashes.
        distribution: What is installed.
        module: What is imported.
        entry: The entry point's name, which is the plugin's.
        name: The title with underscores.
        class_name: The class.
    """

    title: str
    distribution: str
    module: str
    entry: str
    name: str
    class_name: str


def names_of(chosen: str, kind: Kind) -> Names:
    """Make all names of the chosen one.

    Raises:
        FerruleError: It cannot be a name.
    """
    title = chosen.removeprefix(PREFIX).replace("_", "-")
    if not _NAME.fullmatch(chosen) or not title or len(title) > _LONGEST:
        raise FerruleError(
            f"{chosen!r} cannot be the name of a plugin: write small letters, digits and single"
            f" dashes, a letter first, {_LONGEST} characters at most, such as acme-ticket"
        )
    name = title.replace("-", "_")
    return Names(
        title,
        f"{PREFIX}{title}",
        f"ferrule_{name}",
        title if kind.has_dashes else name,
        name,
        "".join(word.capitalize() for word in title.split("-")),
    )


def refuse_taken(names: Names, group: str, host: Host) -> None:
    """Refuse names that belong to somebody already.

    Raises:
        FerruleError: The distribution or the entry point's name is taken.
    """
    taken = {group: host.taken_names(group) for group in ALL_GROUPS}
    if owner := taken[group].get(names.entry):
        raise FerruleError(
            f"the name {names.entry!r} is taken in {group}, by {owner}; choose another"
        )
    if names.distribution in LIBRARIES.union(*(owners.values() for owners in taken.values())):
        raise FerruleError(f"the name {names.distribution} is taken; choose another")
