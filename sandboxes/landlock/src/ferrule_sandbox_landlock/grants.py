"""What a resolved policy is in Landlock's words.

Everything may be read but what is denied, and Landlock only knows how to grant. So a folder with
something denied in it is not granted; each of its other entries is, and so on down to what is
denied. Names may be listed everywhere: granting that entry by entry would make `/` and the home
unlistable, as a right for a folder is always one for all below it. Where a policy names what may be
read, only that may be listed, too.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from ferrule_confinement.program_places import program_places
from ferrule_hookspecs.errors import PolicyUnenforceableError
from ferrule_hookspecs.evaluator import is_inside, unreadable_place
from ferrule_sandbox_landlock.ruleset import READ, READ_DIR, USE_DEVICE, WRITE, Ruleset

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ferrule_hookspecs.sandbox import ResolvedPolicy

_DEVICES: Final = "/dev"
_PROCESSES: Final = "/proc"
_USABLE_DEVICES: Final = (
    *("null", "zero", "full", "random", "urandom"),
    *("tty", "ptmx", "pts"),
)
_SHARED_MEMORY: Final = "/dev/shm"  # noqa: S108  # what the policy grants, not where we write


def grant_policy(ruleset: Ruleset, policy: ResolvedPolicy, scratch: str | None) -> None:
    """Fill a ruleset with what a policy allows.

    Args:
        ruleset: Nothing is granted in it yet.
        policy: The policy.
        scratch: A folder that may be written although nothing else may.

    Raises:
        PolicyUnenforceableError: Something unreadable lies in or around a folder to be written.
    """
    roots = [root.path for root in policy.writable_roots]
    _refuse_overlap(policy.deny_read, roots)
    for path in ("/",) if policy.readable_roots is None else _readable(policy):
        ruleset.grant(path, READ_DIR)
        _grant_around(ruleset, path, (*policy.deny_read, _DEVICES))
    for name in _USABLE_DEVICES:
        ruleset.grant(f"{_DEVICES}/{name}", USE_DEVICE)
    writable = [*roots, *([scratch] if scratch else ())]
    if policy.mode == "workspace-write":
        writable.append(_SHARED_MEMORY)  # locks of programs with several processes lie there
    for path in writable:
        ruleset.grant(path, READ | READ_DIR | WRITE)


def _readable(policy: ResolvedPolicy) -> list[str]:
    """What may be read, with what programs need to start."""
    places = (*map(os.path.realpath, program_places()), _PROCESSES, *(policy.readable_roots or ()))
    return [path for path in places if unreadable_place(policy, path) is None]


def _grant_around(ruleset: Ruleset, folder: str, denied: Sequence[str]) -> None:
    """Let everything in a folder be read but what is denied."""
    if not any(is_inside(path, folder) for path in denied):
        ruleset.grant(folder, READ)
        return
    if folder in denied:
        return
    for name in _names(folder, denied):
        path = os.path.join(folder, name)
        _grant_around(ruleset, path, [each for each in denied if is_inside(each, path)])


def _names(folder: str, denied: Iterable[str]) -> Iterable[str]:
    """The entries of a folder; where we may not list it, those that lead to what is denied."""
    try:
        return os.listdir(folder)
    except OSError:
        start = len(folder.rstrip("/")) + 1
        return dict.fromkeys(path[start:].partition("/")[0] for path in denied)


def _refuse_overlap(denied: Sequence[str], roots: Sequence[str]) -> None:
    for path in denied:
        for root in roots:
            if is_inside(path, root) or is_inside(root, path):
                raise PolicyUnenforceableError(
                    f"the sandbox landlock cannot keep {path} unreadable while commands may write"
                    f" {root}; work in another folder, ask for read-only, or install bubblewrap"
                )
