"""Plugins that happen to be installed where tests run, and that no test is about."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.metadata import distributions
from pathlib import Path
from typing import Final

_OURS: Final = re.compile(r"ferrule(-.+)?")
_NAME: Final = re.compile(r"[A-Za-z0-9._-]+")
_SEPARATORS: Final = re.compile(r"[-_.]+")


@cache
def strangers(project: Path | None = None) -> str:
    """The distributions to leave out, as `FERRULE_NO_PLUGIN` has them.

    Those of Ferrule stay, and where a project is under test, itself and what it depends on.
    """
    wanted = _project(project) if project is not None else frozenset[str]()
    found = {
        _plain(dist.name)
        for dist in distributions()
        if any(point.group.startswith("ferrule.") for point in dist.entry_points)
    }
    return ",".join(sorted(name for name in found - wanted if _OURS.fullmatch(name) is None))


def _project(folder: Path) -> frozenset[str]:
    file = folder / "pyproject.toml"
    if not file.is_file():
        return frozenset()
    table = tomllib.loads(file.read_text("utf-8")).get("project", {})
    needed = [str(each) for each in table.get("dependencies", [])]
    names = [str(table.get("name", "")), *needed]
    return frozenset(_plain(found[0]) for name in names if (found := _NAME.match(name)))


def _plain(name: str) -> str:
    return _SEPARATORS.sub("-", name).lower()
