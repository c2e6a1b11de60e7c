"""The names of the modules and packages that a plugin's distribution brings.

Known from its files, before anything of it is imported. Called by `ferrule.editions`.
"""

from __future__ import annotations

import os
from importlib.machinery import EXTENSION_SUFFIXES
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from ferrule.entry import Entry

_OURS: Final = ("ferrule", "ferrule_hookspecs", "ferrule_testkit")


def package_names(entry: Entry) -> frozenset[str]:
    """Name what a distribution brings: its modules and packages, never a namespace's parent."""
    target = entry.target.partition(":")[0]
    if entry.is_dev or entry.is_editable:
        root = entry.roots[0]  # all in it is of the project; without `src`, what the entry names
        names = _names_in(root) if os.path.basename(root) == "src" else []
        found = {
            each for name in (*names, target.partition(".")[0]) for each in _within(root, name)
        }
    else:
        found = {_shallowest(path, files) for files in [_recorded(entry)] for path in files}
    own = {name for name in found if name.partition(".")[0] not in _OURS}
    return frozenset(own or {_outermost_on_disk(target, entry.roots)})


def _outermost_on_disk(target: str, roots: Sequence[str]) -> str:
    parts = target.split(".")
    for name in (".".join(parts[:depth]) for depth in range(1, len(parts))):
        path = os.path.join(*name.split("."))
        files = (os.path.join(root, path, "__init__.py") for root in roots)
        if any(map(os.path.isfile, files)):
            return name
    return target


def _within(root: str, name: str) -> Iterator[str]:
    """Name a package or module of a folder, or those in it where it is but a namespace."""
    path = os.path.join(root, *name.split("."))
    if os.path.isfile(f"{path}.py") or os.path.isfile(os.path.join(path, "__init__.py")):
        yield name
    elif os.path.isdir(path):
        for inner in _names_in(path):
            yield from _within(root, f"{name}.{inner}")


def _shallowest(path: str, files: Collection[str]) -> str:
    """Name the outermost package that a file is in, else the module that it is."""
    parts = path.split("/")
    for depth in range(1, len(parts)):
        if "/".join([*parts[:depth], "__init__.py"]) in files:
            return ".".join(parts[:depth])
    return ".".join([*parts[:-1], parts[-1].partition(".")[0]])


def _recorded(entry: Entry) -> set[str]:
    """List the code that a distribution has installed."""
    try:
        with open(os.path.join(entry.location, "RECORD"), encoding="utf-8") as file:
            paths = {line.partition(",")[0] for line in file}
    except OSError:
        return set()
    return {
        path
        for path in paths
        if path.endswith((".py", *EXTENSION_SUFFIXES))
        and all(part.isidentifier() for part in path.split("/")[:-1])
    }


def _names_in(folder: str) -> list[str]:
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    plain = [name.removesuffix(".py") for name in names if name != "__pycache__"]
    return [name for name in plain if name.isidentifier()]
