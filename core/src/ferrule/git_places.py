"""What stays protected in a repository. Called by `protected_places.py`.

`git add`, `commit`, `switch` and `worktree` write objects, refs, logs, the index and a dozen small
files in the git folder itself, so that folder may be written. What git runs or follows from there
may not: hooks, configuration, and the files that point to another git folder.
"""

from __future__ import annotations

import contextlib
import os
import re
from typing import Final

from ferrule.places import Places, is_empty
from ferrule_hookspecs.evaluator import is_inside

_POINTERS: Final = ("gitdir", "config.worktree")
_TEXT_LIMIT: Final = 65_536
_MODULE_DEPTH: Final = 3
_MODULE_FOLDERS: Final = 256
_INCLUDED_PATH: Final = re.compile(
    r"^\s*(?:\[[^\]\n]*\]\s*)?(path|hookspath)\s*=\s*\"?([^\"\n#;]+)",
    re.IGNORECASE | re.MULTILINE,
)


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
    for name in _POINTERS:
        if os.path.lexists(f"{folder}/{name}"):
            places.keep(f"{folder}/{name}")
    if "worktreeconfig" in config.lower():
        places.keep(f"{folder}/config.worktree")
    if os.path.lexists(f"{folder}/rebase-merge"):
        places.keep(f"{folder}/rebase-merge")  # its list of steps may hold commands
    _protect_common(places, folder)
    _protect_included(places, folder, config)
    _protect_worktrees(places, folder)
    _protect_modules(places, f"{folder}/modules", _MODULE_DEPTH)


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


def _protect_worktrees(places: Places, folder: str) -> None:
    names = _names(f"{folder}/worktrees")
    if names:
        places.pinned.add(f"{folder}/worktrees")
    for name in names:
        admin = f"{folder}/worktrees/{name}"
        if os.path.lexists(f"{admin}/commondir"):
            places.pinned.add(admin)
            for pointer in ("commondir", *_POINTERS):
                if os.path.lexists(f"{admin}/{pointer}"):
                    places.keep(f"{admin}/{pointer}")


def _protect_modules(places: Places, folder: str, depth: int) -> None:
    """Protect the git folders of submodules, whose names may hold slashes."""
    names = _names(folder)
    if names and depth:
        places.pinned.add(folder)
        for name in names[:_MODULE_FOLDERS]:
            module = f"{folder}/{name}"
            if os.path.lexists(f"{module}/HEAD"):
                protect_git_folder(places, module)
            elif os.path.isdir(module) and not is_empty(module):
                _protect_modules(places, module, depth - 1)


def _protect_included(places: Places, folder: str, config: str) -> None:
    """Protect files inside the root that the configuration includes or takes hooks from."""
    for key, value in _INCLUDED_PATH.findall(config):
        named = os.path.expanduser(value.strip())
        base = folder if key.lower() == "path" else os.path.dirname(folder)
        path = os.path.realpath(os.path.join(base, named))
        if is_inside(path, places.root) and path != places.root and os.path.lexists(path):
            places.keep(path)


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
