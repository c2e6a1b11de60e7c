r"""Relations of paths as a policy names them: case and separators as the system takes them.

On Windows `C:\W\.Git` lies in `c:\\w`. Paths of other systems are compared letter by letter, so
that what this member makes of a policy can be compared with the evaluator anywhere.
"""

from __future__ import annotations

import ntpath
import os
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ferrule_hookspecs.sandbox import ResolvedPolicy

_OF_WINDOWS: Final = re.compile(r"[A-Za-z]:[\\/]|\\\\")


def lies_in(path: str, folder: str) -> bool:
    """Whether an absolute path is a folder or lies below it."""
    inner, outer = _comparable(path), _comparable(folder)
    return inner == outer or inner.startswith(outer.rstrip("/") + "/")


def lies_in_any(path: str, folders: Iterable[str]) -> bool:
    """Whether an absolute path is one of these folders or lies below one."""
    return any(lies_in(path, folder) for folder in folders)


def unique(paths: Iterable[str]) -> tuple[str, ...]:
    """Paths without repetition, in their order."""
    found: dict[str, str] = {}
    for path in paths:
        found.setdefault(_comparable(path), path)
    return tuple(found.values())


def protected_places(policy: ResolvedPolicy) -> tuple[str, ...]:
    """What must not be written inside of any writable root, existing or not."""
    roots = policy.writable_roots
    return unique(path for root in roots for path in (*root.read_only, *root.forbidden))


def writable_roots(policy: ResolvedPolicy) -> tuple[str, ...]:
    """The roots of a policy without those that another root protects or that nobody may read."""
    closed = (*protected_places(policy), *with_targets(policy.deny_read))
    return unique(root.path for root in policy.writable_roots if not lies_in_any(root.path, closed))


def with_targets(paths: Sequence[str]) -> tuple[str, ...]:
    """Paths, and where those that are links lead to."""
    here = (path for path in paths if os.path.isabs(path))
    return unique((*paths, *map(os.path.realpath, here)))


def _comparable(path: str) -> str:
    if _OF_WINDOWS.match(path) is None:
        return path
    return ntpath.normcase(path).replace("\\", "/").rstrip("/")
