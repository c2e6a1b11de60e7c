"""What a resolved policy is in access lists: entries for one identity, the command's own.

A command runs with a token that may write only what is granted to that identity as well as to the
user. Nothing grants it the right to delete what lies in a folder (`FILE_DELETE_CHILD`): then a
file goes away only where the file itself says so, and a refusal on it counts.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from ferrule_sandbox_windows.constants import (
    CONTAINER_INHERIT_ACE,
    DELETE,
    FILE_APPEND_DATA,
    FILE_DELETE_CHILD,
    FILE_GENERIC_EXECUTE,
    FILE_GENERIC_READ,
    FILE_GENERIC_WRITE,
    FILE_WRITE_ATTRIBUTES,
    FILE_WRITE_DATA,
    FILE_WRITE_EA,
    INHERIT_ONLY_ACE,
    OBJECT_INHERIT_ACE,
    WRITE_DAC,
    WRITE_OWNER,
)
from ferrule_sandbox_windows.places import protected_places, writable_roots

if TYPE_CHECKING:
    from collections.abc import Collection

    from ferrule_hookspecs.sandbox import ResolvedPolicy

_INHERITED: Final = CONTAINER_INHERIT_ACE | OBJECT_INHERIT_ACE
_USE: Final = FILE_GENERIC_READ | FILE_GENERIC_WRITE | FILE_GENERIC_EXECUTE
_CHANGE: Final = (
    FILE_WRITE_DATA
    | FILE_APPEND_DATA
    | FILE_WRITE_EA
    | FILE_WRITE_ATTRIBUTES
    | FILE_DELETE_CHILD
    | DELETE
    | WRITE_DAC
    | WRITE_OWNER
)


class Ace(NamedTuple):
    """One entry of an access list, for the command's identity.

    Attributes:
        path: Whose list it stands in.
        kind: Whether it grants or refuses; refusals come first in a list.
        mask: The rights.
        flags: What inherits it.
    """

    path: str
    kind: Literal["allow", "deny"]
    mask: int
    flags: int = 0


class AccessPlan(NamedTuple):
    """The entries of a policy: grants for its roots, refusals for what they protect."""

    grants: tuple[Ace, ...]
    refusals: tuple[Ace, ...]


def make_plan(
    policy: ResolvedPolicy, scratch: str | None = None, missing: Collection[str] = ()
) -> AccessPlan:
    """Say a policy in entries; places that do not exist have none.

    Args:
        policy: The policy.
        scratch: A private folder that may be written although nothing else may.
        missing: Names that do not exist, or have a stand-in, which refuses all by itself.
    """
    granted = [*writable_roots(policy), *([scratch] if scratch else ())]
    grants: list[Ace] = []
    for path in granted:
        grants.append(Ace(path, "allow", _USE))  # not DELETE: a root keeps its name
        grants.append(Ace(path, "allow", _USE | DELETE, _INHERITED | INHERIT_ONLY_ACE))
    pinned = [path for root in policy.writable_roots for path in (root.path, *root.pinned)]
    refusals = [Ace(path, "deny", DELETE) for path in dict.fromkeys(pinned)]
    for path in protected_places(policy):
        if path in missing:
            continue
        is_folder = os.path.isdir(path) and not os.path.islink(path)
        refusals.append(Ace(path, "deny", _CHANGE, _INHERITED if is_folder else 0))
    return AccessPlan(
        tuple(ace for ace in grants if os.path.lexists(ace.path)),
        tuple(ace for ace in refusals if os.path.lexists(ace.path)),
    )
