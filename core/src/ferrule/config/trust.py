"""Which folder is the project, which of its files count, and whether the user trusts it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ferrule.config.tables import lookup

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

_FOLDERS = (".ferrule", ".codex")


class ProjectFacts(NamedTuple):
    """The project a working directory belongs to.

    Attributes:
        root: Nearest folder upwards with a root marker, or the working directory itself.
        files: Configuration files from the root down to the working directory.
        trust: What the user decided, if anything.
        decided_at: The path under `projects` that says so.
    """

    root: Path
    files: Sequence[Path]
    trust: str | None
    decided_at: str | None


def find_project(
    cwd: Path, *, own: Mapping[str, object], markers: Sequence[str], homes: Sequence[Path]
) -> ProjectFacts:
    """Look at the folders from the working directory upwards.

    Args:
        cwd: Absolute working directory.
        own: The configuration without any project file; only it can trust.
        markers: Names that mark a root.
        homes: Configuration homes of the user; they are never a project's.
    """
    chain = [cwd, *cwd.parents]
    root = next((d for d in chain if any((d / mark).exists() for mark in markers)), cwd)
    trust, decided_at = _decision(own, cwd, root)
    inside = chain[: chain.index(root) + 1]
    files = [file for folder in reversed(inside) for file in _project_files(folder, homes)]
    return ProjectFacts(root, files, trust, decided_at)


def _decision(own: Mapping[str, object], cwd: Path, root: Path) -> tuple[str | None, str | None]:
    for path in dict.fromkeys((str(cwd), str(cwd.resolve()), str(root), str(root.resolve()))):
        level = lookup(own, ("projects", path, "trust_level"))
        if isinstance(level, str):
            return level, path
    return None, None


def _project_files(folder: Path, homes: Sequence[Path]) -> Iterator[Path]:
    """Yield at most one file: `.codex` counts only where there is no `.ferrule` folder."""
    for name in _FOLDERS:
        place = folder / name
        if not place.is_dir():
            continue
        if place.resolve() not in homes and (place / "config.toml").is_file():
            yield place / "config.toml"
        return
