"""What stays protected inside a folder that may be written. Called by `policy.py`.

A command that may write a project must still not be able to plant what runs later outside of the
sandbox: git hooks, the settings of agents and editors. Such places are read-only where they exist
and may not come into being where they do not.
"""

from __future__ import annotations

import contextlib
import os
import time
from typing import TYPE_CHECKING, Final, NamedTuple

from ferrule.agentignore import NAME as IGNORE_FILE
from ferrule.git_places import is_bare_repository, protect_git, protect_git_folder
from ferrule.places import Places

if TYPE_CHECKING:
    from collections.abc import Iterator

PROTECTED_NAMES: Final = (".git", ".ferrule", ".codex", ".agents", ".aws", ".vscode")
_NESTED_NAMES: Final = frozenset({".git", ".ferrule", ".codex", ".agents", IGNORE_FILE})
_SKIPPED_NAMES: Final = frozenset({"node_modules", "__pycache__", ".venv", "venv", ".tox"})
_NESTED_DEPTH: Final = 3
_NESTED_FOLDERS: Final = 1024  # a bound on the time one command waits, measured at 2 ms
_SETTLED_NS: Final = 100_000_000  # a folder changed this recently may change again unnoticed


def find_places(root: str) -> Places:
    """Find what is protected in a workspace, nested repositories and projects included."""
    places = Places(root)
    for name in PROTECTED_NAMES:
        if name != ".git":
            places.keep(os.path.join(root, name))
    protect_git(places, os.path.join(root, ".git"))
    if is_bare_repository(root):
        protect_git_folder(places, root)
    if os.path.lexists(os.path.join(root, IGNORE_FILE)):
        places.keep_ignore_file(os.path.join(root, IGNORE_FILE))
    for path in _nested(root):
        if path.endswith(f"/{IGNORE_FILE}"):
            places.keep_ignore_file(path)
        elif path.endswith("/.git"):
            protect_git(places, path)
        else:
            places.keep(path)
    return places


def nested_ignore_files(root: str) -> list[str]:
    """Find the `.agentignore` files below a folder that may not be written, as deep as above."""
    return [path for path in _nested(root) if path.endswith(f"/{IGNORE_FILE}")]


def find_scratch_places(root: str) -> Places:
    """Find what is protected in a temporary folder.

    Others share it and repositories come and go in it, so only what git would find from the
    folders below it counts.
    """
    places = Places(root)
    protect_git(places, os.path.join(root, ".git"))
    return places


class _Folder(NamedTuple):
    """What a folder held when it was last read."""

    stamp: int
    protected: tuple[str, ...]
    folders: tuple[str, ...]


_known_folders: dict[str, _Folder] = {}


def _nested(root: str) -> Iterator[str]:
    """Find protected names below the top of a root, breadth first and bounded."""
    level = [root]
    budget = _NESTED_FOLDERS
    for depth in range(_NESTED_DEPTH + 1):
        following: list[str] = []
        for folder in level:
            budget -= 1
            if budget < 0:
                return
            facts = _read_folder(folder)
            if facts is None:
                continue
            if depth:
                yield from (f"{folder}/{name}" for name in facts.protected)
            following += [f"{folder}/{name}" for name in facts.folders]
        level = following


def _read_folder(folder: str) -> _Folder | None:
    """Read a folder, or remember it from the last time when it has not changed since."""
    try:
        stamp = os.stat(folder).st_mtime_ns
    except OSError:
        return None
    known = _known_folders.get(folder)
    if known is not None and known.stamp == stamp:
        return known
    protected: list[str] = []
    folders: list[str] = []
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name in _NESTED_NAMES:
                protected.append(entry.name)
            elif entry.name not in _SKIPPED_NAMES and entry.is_dir(follow_symlinks=False):
                folders.append(entry.name)
    facts = _Folder(stamp, tuple(sorted(protected)), tuple(sorted(folders)))
    if time.time_ns() - stamp > _SETTLED_NS:
        if len(_known_folders) > 8 * _NESTED_FOLDERS:
            _known_folders.clear()
        _known_folders[folder] = facts
    return facts
