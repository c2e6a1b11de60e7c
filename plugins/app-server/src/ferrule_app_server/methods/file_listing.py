"""The files below a folder that git would not ignore, for the search by name."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, NamedTuple

from ferrule_app_server.methods.ignore_rules import IgnoreRules

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_MOST: Final = 400_000


class Listed(NamedTuple):
    """A file or folder below a root; the path is relative to it and uses slashes."""

    path: str
    is_folder: bool


class _Level(NamedTuple):
    """Rules that hold below a folder: paths are cut there before they are judged."""

    cut: int
    rules: IgnoreRules


def list_files(root: str, is_cancelled: Callable[[], bool]) -> list[Listed]:
    """List what lies below a folder, hidden files included, `.git` left out.

    Links are listed and not followed. Ends early where it is cancelled, or there is no end to it.
    """
    found: list[Listed] = []
    pending = [(os.path.abspath(root), _above(os.path.abspath(root)))]
    start = len(os.path.join(os.path.abspath(root), ""))
    while pending and len(found) < _MOST and not is_cancelled():
        folder, levels = pending.pop()
        entries = list(_entries(folder))
        if any(entry.name == ".gitignore" for entry in entries):
            levels = [*levels, *_level(folder, ".gitignore")]
        for entry in entries:
            is_folder = entry.is_dir(follow_symlinks=False)
            if _is_ignored(entry.path, levels, is_folder=is_folder):
                continue
            found.append(Listed(entry.path[start:].replace(os.sep, "/"), is_folder))
            if is_folder:
                pending.append((entry.path, levels))
    return found


def _entries(folder: str) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            yield from (entry for entry in entries if entry.name != ".git")
    except OSError:
        return  # what may not be read, or has gone, holds nothing that could be offered


def _above(root: str) -> list[_Level]:
    """Rules of the repository a folder lies in, from its root down."""
    folders: list[str] = []
    folder = root
    while not os.path.exists(os.path.join(folder, ".git")):
        parent = os.path.dirname(folder)
        if parent == folder:
            return []
        folders.append(parent)
        folder = parent
    own = _level(folder, os.path.join(".git", "info", "exclude"))
    return own + [level for each in reversed(folders) for level in _level(each, ".gitignore")]


def _level(folder: str, name: str) -> list[_Level]:
    try:
        with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:
            return [_Level(len(os.path.join(folder, "")), IgnoreRules(file.read()))]
    except OSError:
        return []


def _is_ignored(path: str, levels: Sequence[_Level], *, is_folder: bool) -> bool:
    for level in reversed(levels):
        verdict = level.rules.verdict(path[level.cut :], is_folder=is_folder)
        if verdict is not None:
            return verdict
    return False
