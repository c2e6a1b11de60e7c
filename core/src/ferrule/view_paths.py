"""Canonical paths of a view of the workspace: links are read where the view has them.

Used by `files.py` where a session has a view: what the system would resolve for this process are
the links of the real files.
"""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ferrule_hookspecs.evaluator import Operation

_MOST_LINKS: Final = 40
_OF_NAMES: Final = ("create", "remove", "rename")


def canonical_in(root: str, path: str, operation: Operation) -> str:
    """Return the path of the view that an operation really works on.

    Args:
        root: The folder of this process in which `/` of the view lies.
        path: Absolute.
        operation: Creating, removing and renaming concern the name itself.

    Raises:
        OSError: The links lead round in a circle.
    """
    if operation not in _OF_NAMES:
        return _resolved(root, path)
    parent, name = os.path.split(os.path.normpath(path))
    return os.path.join(_resolved(root, parent), name)


def _resolved(root: str, path: str) -> str:
    """Follow every link, as far as the path exists."""
    pending = [name for name in reversed(path.split("/")) if name]
    here, links = "", 0
    while pending:
        name = pending.pop()
        if name == ".":
            continue
        if name == "..":
            here = here.rpartition("/")[0]
            continue
        target = _target(f"{root}{here}/{name}")
        if target is None:
            here = f"{here}/{name}"
            continue
        links += 1
        if links > _MOST_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
        here = "" if target.startswith("/") else here
        pending += [name for name in reversed(target.split("/")) if name]
    return here or "/"


def _target(place: str) -> str | None:
    try:
        return os.readlink(place)
    except OSError:
        return None
