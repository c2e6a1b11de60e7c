"""What stays protected in a repository. Called by `protected_places.py`.

`git add`, `commit`, `switch` and `worktree` write objects, refs, logs, the index and a dozen small
files in the git folder itself, so that folder may be written. What git runs or follows from there
may not: hooks, configuration, and the files that point to another git folder.
"""

from __future__ import annotations

import contextlib
import os
import re
from typing import TYPE_CHECKING, Final

from ferrule.places import Places, is_empty
from ferrule_hookspecs.evaluator import is_inside

if TYPE_CHECKING:
    from collections.abc import Iterator

_POINTERS: Final = ("gitdir", "config.worktree")
_UNDER_WAY: Final = ("rebase-merge", "rebase-apply", "sequencer")
"""What was begun and stopped: lists of steps may hold commands, and options name programs."""
_TEXT_LIMIT: Final = 65_536
_MODULE_DEPTH: Final = 3
_MODULE_FOLDERS: Final = 256
_SECTION: Final = re.compile(r"\s*\[\s*([^\s\"\].]+)[^\]\n]*\]?")
_PATH: Final = re.compile(r"\s*(path|hookspath)\s*=\s*\"?([^\"\n#;]+)", re.IGNORECASE)
_INCLUDING: Final = ("include", "includeif")


def protect_git(places: Places, path: str) -> None:
    """Protect `.git`, be it a folder, a pointer file, a symbolic link, or missing."""
    if os.path.islink(path):
        places.read_only.add(path)
        path = os.path.realpath(path)
        if not is_inside(path, places.root):
            return
    if os.path.isdir(path):
        protect_git_folder(places, path)
    elif os.path.isfile(path):
        places.read_only.add(path)
        _protect_pointed(places, path)
    else:
        places.forbidden.add(path)


def protect_git_folder(places: Places, folder: str) -> None:
    """Protect what runs or redirects in a git folder and leave the rest of it writable."""
    if folder in places.git_folders:
        return
    places.git_folders.add(folder)
    if not os.path.lexists(f"{folder}/HEAD"):
        places.keep(folder)  # not a repository: nothing in it needs to be written
        return
    places.pinned.add(folder)
    config = _text(f"{folder}/config")
    places.keep(f"{folder}/config")
    places.keep(f"{folder}/hooks")
    has_worktree_config = "worktreeconfig" in config.lower()
    _protect_existing(places, folder, has_worktree_config=has_worktree_config)
    _protect_common(places, folder)
    _protect_included(places, folder, config)
    _protect_worktrees(places, folder, has_worktree_config=has_worktree_config)
    _protect_modules(places, f"{folder}/modules", _MODULE_DEPTH)


def _protect_existing(places: Places, folder: str, *, has_worktree_config: bool) -> None:
    """Protect what a git folder and the folder of a linked worktree have in common."""
    for name in (*_POINTERS, *_UNDER_WAY):
        if os.path.lexists(f"{folder}/{name}"):
            places.keep(f"{folder}/{name}")
    if has_worktree_config:
        places.keep(f"{folder}/config.worktree")


def is_bare_repository(folder: str) -> bool:
    """Whether git takes a folder itself for a git folder."""
    return os.path.lexists(f"{folder}/HEAD") and all(
        os.path.isdir(f"{folder}/{name}") for name in ("objects", "refs")
    )


def common_folder(folder: str) -> str | None:
    """Follow the `commondir` file of a git folder; None where it has none or names itself."""
    text = _text(f"{folder}/commondir").strip()
    if not text:
        return None
    common = os.path.realpath(os.path.join(folder, text))
    return None if common == folder else common


def _protect_common(places: Places, folder: str) -> None:
    path = f"{folder}/commondir"
    common = common_folder(folder)
    if common is None:
        places.forbidden.add(path)
        return
    places.read_only.add(path)
    if is_inside(common, places.root):
        protect_git_folder(places, common)


def _protect_pointed(places: Places, pointer: str) -> None:
    """Protect the git folder that a `.git` file points to."""
    folder = pointed_folder(pointer)
    if folder is None:
        return
    if is_inside(folder, places.root):
        protect_git_folder(places, folder)
        return
    common = common_folder(folder)
    named_back = _text(f"{folder}/gitdir").strip()
    if common is None or not named_back or not is_inside(folder, common):
        return
    # Only a repository that names this worktree as its own is opened for writing: a stranger's
    # pointer file alone must not reach the user's other repositories.
    if os.path.realpath(os.path.join(folder, named_back)) == os.path.realpath(pointer):
        places.outside.append(common)


def pointed_folder(pointer: str) -> str | None:
    """Return the folder that a `.git` file names, if it is there."""
    text = _text(pointer)
    if not text.startswith("gitdir:"):
        return None
    named = text.removeprefix("gitdir:").strip()
    folder = os.path.realpath(os.path.join(os.path.dirname(pointer), named))
    return folder if os.path.isdir(folder) else None


def _protect_worktrees(places: Places, folder: str, *, has_worktree_config: bool) -> None:
    worktrees = _entered(places, f"{folder}/worktrees")
    for name in _names(worktrees):
        admin = f"{worktrees}/{name}"
        if os.path.lexists(f"{admin}/commondir") and not os.path.islink(admin):
            places.pinned.add(admin)
            places.keep(f"{admin}/commondir")
            _protect_existing(places, admin, has_worktree_config=has_worktree_config)
            _protect_modules(places, f"{admin}/modules", _MODULE_DEPTH)
        elif os.path.islink(admin):
            places.keep(admin)


def _entered(places: Places, folder: str) -> str:
    """Pin a folder that holds something protected; where it is a link, what it leads to as well."""
    target = os.path.realpath(folder)
    if os.path.islink(folder):
        places.read_only.add(folder)
    if os.path.isdir(target) and _names(target) and is_inside(target, places.root):
        places.pinned.add(target)
    return target


def _protect_modules(places: Places, folder: str, depth: int) -> None:
    """Protect the git folders of submodules, whose names may hold slashes."""
    if not depth or not os.path.lexists(folder):
        return
    folder = _entered(places, folder)
    if not is_inside(folder, places.root):
        return
    for name in _names(folder)[:_MODULE_FOLDERS]:
        module = f"{folder}/{name}"
        if os.path.islink(module):
            places.read_only.add(module)
            module = os.path.realpath(module)
            if not is_inside(module, places.root):
                continue
        if os.path.lexists(f"{module}/HEAD"):
            protect_git_folder(places, module)
        elif os.path.isdir(module) and not is_empty(module):
            _protect_modules(places, module, depth - 1)


def _protect_included(places: Places, folder: str, config: str) -> None:
    """Protect what inside the root the configuration includes or takes hooks from.

    Where that is missing it must not come into being, nor the first folder on the way to it.
    """
    for section, key, value in _paths(config):
        base = folder if key == "path" else os.path.dirname(folder)
        path = os.path.realpath(os.path.join(base, os.path.expanduser(value)))
        if not is_inside(path, places.root) or path == places.root:
            continue
        if os.path.lexists(path):
            places.keep(path)
        elif key == "hookspath" or section in _INCLUDING:
            while not os.path.lexists(os.path.dirname(path)):
                path = os.path.dirname(path)
            places.keep(path)


def _paths(config: str) -> Iterator[tuple[str, str, str]]:
    """Find paths in a configuration, as section, key and value."""
    section = ""
    for line in config.splitlines():
        header = _SECTION.match(line)
        if header is not None:
            section = header[1].lower()
        found = _PATH.match(line, 0 if header is None else header.end())
        if found is not None:
            yield section, found[1].lower(), found[2].strip()


def _names(folder: str) -> list[str]:
    with contextlib.suppress(OSError):
        return sorted(os.listdir(folder))
    return []


def _text(path: str) -> str:
    """Read the beginning of a small file; empty when it cannot be read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        return os.read(descriptor, _TEXT_LIMIT).decode("utf-8", "surrogateescape")
    except OSError:
        return ""
    finally:
        os.close(descriptor)
