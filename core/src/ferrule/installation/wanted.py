"""The plugins that the user wants, in `$FERRULE_HOME/plugins.toml`.

`ferrule plugins add` and `remove` write it, and `ferrule plugins sync` installs what of it is
missing, so that an environment that was made anew has the same plugins again.
"""

from __future__ import annotations

import json
import tomllib
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from ferrule.home_file import locked, replace_text
from ferrule.versions import normal_name
from ferrule_hookspecs.errors import PluginError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

_HEAD: Final = """\
# The plugins that `ferrule plugins add` installed. `ferrule plugins sync` installs what is missing.
# This file is written by Ferrule; comments are not kept.
"""


class Sources(NamedTuple):
    """Where an installer looks for distributions; what is empty is left to its configuration.

    Attributes:
        index_url: The package index.
        find_links: Folders or pages with wheels.
        no_index: Whether no index is asked.
    """

    index_url: str = ""
    find_links: tuple[str, ...] = ()
    no_index: bool = False


class Wanted(NamedTuple):
    """One distribution that the user asked for.

    Attributes:
        name: Its normalised name.
        requirement: What an installer is told; a folder for what is installed in editable mode.
        editable: Whether it runs from that folder.
        sources: Where to look for it.
    """

    name: str
    requirement: str
    editable: bool = False
    sources: Sources = Sources()


def wanted_file(home: Path) -> Path:
    """Return where the wanted set is kept."""
    return home / "plugins.toml"


def read_wanted(home: Path) -> list[Wanted]:
    """Read the wanted set, by name; empty where nothing was ever added.

    Raises:
        PluginError: The file cannot be understood; says where and what to do.
    """
    path = wanted_file(home)
    try:
        table = tomllib.loads(path.read_text("utf-8"))
        rows = cast("Sequence[Mapping[str, object]]", table.get("plugin", []))
        found = [_wanted(row) for row in rows]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        text = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise PluginError(
            f"{path} says which plugins are wanted and cannot be read: {text}; mend it, or remove"
            " it and add the plugins again"
        ) from None
    return sorted(found)


def change_wanted(home: Path, change: Callable[[Mapping[str, Wanted]], Sequence[Wanted]]) -> None:
    """Replace the wanted set by what a function makes of it, while nobody else writes.

    Raises:
        PluginError: The file cannot be understood or written.
    """
    path = wanted_file(home)
    try:
        with locked(path):
            before = {item.name: item for item in read_wanted(home)}
            text = _HEAD + "".join(_shown(item) for item in sorted(change(before)))
            replace_text(path, text)
    except OSError as error:
        raise PluginError(f"{path} cannot be written: {error.strerror or error}") from error


def _wanted(row: Mapping[str, object]) -> Wanted:
    links = row.get("find-links", [])
    if not isinstance(links, list):
        raise TypeError("find-links must be a list")
    return Wanted(
        normal_name(str(row["name"])),
        str(row["requirement"]),
        row.get("editable", False) is True,
        Sources(
            str(row.get("index-url", "")),
            tuple(str(link) for link in cast("list[object]", links)),
            row.get("no-index", False) is True,
        ),
    )


def _shown(item: Wanted) -> str:
    values: dict[str, object] = {"name": item.name, "requirement": item.requirement}
    values |= {"editable": True} if item.editable else {}
    values |= {"index-url": item.sources.index_url} if item.sources.index_url else {}
    values |= {"find-links": list(item.sources.find_links)} if item.sources.find_links else {}
    values |= {"no-index": True} if item.sources.no_index else {}
    lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in values.items()]
    return "\n[[plugin]]\n" + "\n".join(lines) + "\n"
