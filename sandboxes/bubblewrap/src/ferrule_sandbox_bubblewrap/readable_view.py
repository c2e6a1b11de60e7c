"""The part of the file system that a command sees to read, in bubblewrap's words.

Either all of it, or, where a policy names readable folders, a root of its own that holds nothing
but these and what programs need to start.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ferrule_confinement.program_places import is_shown, program_places
from ferrule_sandbox_bubblewrap.reach import is_reachable

if TYPE_CHECKING:
    from ferrule_hookspecs.sandbox import ResolvedPolicy


def is_whole(policy: ResolvedPolicy) -> bool:
    """Whether a command sees all of the file system."""
    return policy.readable_roots is None or "/" in policy.readable_roots


def view_arguments(policy: ResolvedPolicy) -> list[str]:
    """Show what may be read."""
    if is_whole(policy):
        return ["--ro-bind", "/", "/"]
    words: list[str] = []
    for path in program_places():
        if os.path.islink(path) and is_shown(policy, os.path.realpath(path)):
            words += ["--symlink", os.readlink(path), path]
        else:  # a link that leads out of the view, as that to resolv.conf may, is what it leads to
            words += ["--ro-bind-try", path, path]
    for path in sorted(policy.readable_roots or ()):
        if os.path.exists(path) and is_reachable(path):
            words += ["--ro-bind-try", path, path]
    return words


def sealing_arguments(policy: ResolvedPolicy, cwd: str) -> list[str]:
    """Make a root of a command's own unwritable; a hidden working directory is an empty one."""
    if is_whole(policy):
        return []
    room = [] if is_shown(policy, cwd) else ["--dir", cwd]
    return [*room, "--remount-ro", "/"]
