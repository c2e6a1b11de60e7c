"""Grants beyond the sandbox: what is missing, what may never be granted, what is held how long."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Final

from ferrule.agentignore import files_above, find_ignored, with_files_kept
from ferrule.protected_places import PROTECTED_NAMES, find_places
from ferrule_hookspecs.evaluator import (
    decide_canonical,
    is_inside,
    protected_place,
    unreadable_place,
)
from ferrule_hookspecs.permissions import AdditionalPermissions

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from ferrule_hookspecs.policies import SandboxPolicy
    from ferrule_hookspecs.sandbox import ResolvedPolicy

NOTHING: Final = AdditionalPermissions()
_OF_THE_SYSTEM: Final = ("/dev", "/proc", "/run", "/sys")


class Grants:
    """What was granted for later calls of a session.

    A grant holds under the sandbox policies it was given under: who chooses another one means it.
    """

    def __init__(self) -> None:
        self._held: dict[tuple[str, str], AdditionalPermissions] = {}

    def add(
        self,
        granted: AdditionalPermissions,
        policies: Sequence[SandboxPolicy],
        turn_id: str | None,
    ) -> None:
        """Keep a grant until a turn ends, or with None for the session."""
        if turn_id is not None:
            self._held = {key: held for key, held in self._held.items() if key[0] in ("", turn_id)}
        key = (turn_id or "", _key(policies))
        self._held[key] = merged((self._held.get(key, NOTHING), granted))

    def held(self, policies: Sequence[SandboxPolicy], turn_id: str) -> AdditionalPermissions:
        """What holds in a turn."""
        if not self._held:
            return NOTHING
        key = _key(policies)
        return merged(self._held.get((turn, key), NOTHING) for turn in {"", turn_id})


def _key(policies: Sequence[SandboxPolicy]) -> str:
    return json.dumps(policies, sort_keys=True)


def merged(grants: Iterable[AdditionalPermissions]) -> AdditionalPermissions:
    """Return all of several grants as one."""
    each = list(grants)
    return AdditionalPermissions(
        any(one.network for one in each),
        tuple(sorted({path for one in each for path in one.read})),
        tuple(sorted({path for one in each for path in one.write})),
    )


def missing(asked: AdditionalPermissions | None, policy: ResolvedPolicy) -> AdditionalPermissions:
    """Return what of a call's wishes the sandbox does not allow anyway, as canonical paths."""
    if asked is None or policy.unconfined:
        return NOTHING
    read = {os.path.realpath(path) for path in asked.read}
    write = {os.path.realpath(path) for path in asked.write}
    return AdditionalPermissions(
        asked.network and not policy.network,
        tuple(sorted(path for path in read if decide_canonical(policy, "read", path))),
        tuple(sorted(path for path in write if decide_canonical(policy, "write", path))),
    )


def objection(wanted: AdditionalPermissions, policy: ResolvedPolicy, home: Path) -> str | None:
    """Tell why nobody may grant something; None where it may be asked for."""
    settings = os.path.realpath(home)
    for path in (*wanted.read, *wanted.write):
        if is_inside(path, settings):
            return f"{path} cannot be granted: the settings of Ferrule lie there"
    for path in wanted.read:
        hidden = unreadable_place(policy, path)
        if hidden not in (None, path):
            return f"{path} cannot be granted on its own; name all of {hidden}"
    for path in wanted.write:
        reason = _objection_to_write(policy, path, wanted.read)
        if reason is not None:
            return f"writing in {path} cannot be granted: {reason}"
    return None


def _objection_to_write(policy: ResolvedPolicy, path: str, readable: tuple[str, ...]) -> str | None:
    if path == "/":
        return "that is the whole machine; name the folders that are needed"
    if any(is_inside(path, place) for place in _OF_THE_SYSTEM):
        return "it belongs to the system"
    place = protected_place(policy, path)
    if place is not None or set(path.split("/")) & set(PROTECTED_NAMES):
        return f"{place or path} is protected"
    hidden = unreadable_place(policy, path)
    if hidden is not None and hidden not in readable:
        return f"{hidden} holds credentials"
    if not os.path.isdir(path):
        return "it is no folder that exists; name the folder above it"
    return None


def widened(policy: ResolvedPolicy, granted: AdditionalPermissions, home: Path) -> ResolvedPolicy:
    """Return a policy with exactly these grants more; what is protected stays protected.

    A path that leads elsewhere by now than when it was granted is not granted.
    """
    if policy.unconfined or not any(granted):
        return policy
    settings = os.path.realpath(home)
    roots = {root.path: root for root in policy.writable_roots}
    for path in granted.write:
        is_the_same = os.path.realpath(path) == path and os.path.isdir(path)
        if path in roots or not is_the_same:
            continue
        places = find_places(path)
        if is_inside(settings, path):
            places.keep(settings)
        deeper = find_ignored([*places.ignore_files, *files_above(path)]).files
        (roots[path],) = with_files_kept([places.frozen()], deeper)
    readable = policy.readable_roots
    return policy._replace(
        readable_roots=None if readable is None else (*readable, *granted.read),
        mode="workspace-write" if roots else policy.mode,
        writable_roots=tuple(roots[path] for path in sorted(roots)),
        deny_read=tuple(path for path in policy.deny_read if path not in granted.read),
        network=policy.network or granted.network,
    )
