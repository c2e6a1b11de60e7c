"""Folders that may be written, with what stays protected in them. Called by `policy.py`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from ferrule.git_places import protect_git_folder
from ferrule.places import Places
from ferrule.protected_places import find_places, find_scratch_places
from ferrule_hookspecs.errors import ConfigError
from ferrule_hookspecs.evaluator import is_inside
from ferrule_hookspecs.sandbox import WritableRoot

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from ferrule.profile_resolution import ProfileFiles


class Writable(NamedTuple):
    """Folders that may be written, and the `.agentignore` files that were found in them."""

    roots: tuple[WritableRoot, ...] = ()
    ignore_files: tuple[str, ...] = ()


def existing_folders(paths: Iterable[str]) -> list[str]:
    """Return the canonical folders among paths, each once."""
    canonical = dict.fromkeys(os.path.realpath(path) for path in paths)
    return [path for path in canonical if os.path.isdir(path)]


def protected_roots(workspaces: Sequence[str], scratch: Sequence[str], home: Path) -> Writable:
    """Protect in canonical folders what a command must not change.

    Args:
        workspaces: Folders in which everything counts that runs later outside of the sandbox.
        scratch: Temporary folders, which others share.
        home: `$FERRULE_HOME`; its settings are read-only wherever they lie.
    """
    return _frozen(_found(workspaces, scratch), home)


def profile_roots(files: ProfileFiles, home: Path) -> Writable:
    """Do the same for a permission profile, which closes places of its own.

    Raises:
        ConfigError: It opens what is protected in every writable folder.
    """
    found = _found(files.workspaces, files.scratch, files.closed)
    for places in found:
        for path in files.read_only:
            if is_inside(path, places.root):
                places.keep(path)
        for path in files.denied_names:
            if is_inside(path, places.root) and _is_missing_name(path):
                places.forbidden.add(path)
    writable = _frozen(found, home)
    for root in files.workspaces:
        for place in (each for one in writable.roots for each in (*one.read_only, *one.forbidden)):
            if is_inside(root, place):
                raise ConfigError(
                    f"the permission profile lets {root} be written, but {place} is protected in "
                    "every folder that may be written; leave that entry out"
                )
    return writable


def _is_missing_name(path: str) -> bool:
    return not os.path.lexists(path) and os.path.isdir(os.path.dirname(path))


def _found(
    workspaces: Sequence[str], scratch: Sequence[str], closed: Sequence[str] = ()
) -> list[Places]:
    found = [find_places(root) for root in workspaces]
    found += [find_scratch_places(root) for root in scratch]
    _add_linked_repositories(found, closed)
    return found


def _frozen(found: list[Places], home: Path) -> Writable:
    settings = os.path.realpath(home)
    for places in found:
        if is_inside(settings, places.root):
            places.keep(settings)
    found.sort(key=lambda places: places.root)
    return Writable(
        tuple(places.frozen() for places in found),
        tuple(path for places in found for path in places.ignore_files),
    )


def _add_linked_repositories(found: list[Places], closed: Sequence[str]) -> None:
    """Open the git folder of a linked worktree's repository, so that commits work there too."""
    folders = dict.fromkeys(folder for places in found for folder in places.outside)
    for folder in folders:
        holder = next((places for places in found if is_inside(folder, places.root)), None)
        if holder is None:
            if any(is_inside(folder, place) for place in closed):
                continue
            holder = Places(folder)
            found.append(holder)
        protect_git_folder(holder, folder)
