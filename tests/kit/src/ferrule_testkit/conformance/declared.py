"""Entry points as packages declare them: installed ones, and those of the project under test."""

from __future__ import annotations

import tomllib
from importlib.metadata import entry_points
from pathlib import Path
from typing import cast


def declared(group: str, target: str, start: Path) -> set[str]:
    """Names under which a target is declared, installed or in the nearest `pyproject.toml`.

    Args:
        group: Such as `ferrule.tools`.
        target: `module:Class` or `module`.
        start: A file of the project under test.
    """
    found = {point.name for point in entry_points(group=group) if point.value == target}
    names = _project(start).get(group, {})
    return found | {name for name, value in names.items() if value == target}


def is_installed(group: str, name: str) -> bool:
    """Whether an entry point of that name is installed."""
    return any(point.name == name for point in entry_points(group=group))


def target_of(made: object) -> str:
    """What an entry point for something has to say: `module:Class`."""
    return f"{type(made).__module__}:{type(made).__qualname__}"


def _project(start: Path) -> dict[str, dict[str, str]]:
    for folder in start.resolve().parents:
        file = folder / "pyproject.toml"
        if file.is_file():
            project = tomllib.loads(file.read_text("utf-8")).get("project", {})
            return cast("dict[str, dict[str, str]]", project.get("entry-points", {}))
    return {}
