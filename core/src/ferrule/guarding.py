"""Which plugins leave a gap when they may not be used: what they would have judged is refused.

A plugin guards when it says so in its `ferrule.toml`, when it is required, or when what the user
approved of it served hooks that judge, or may have, as far as is known. What the user switched off
or the administrator blocked is a decision and no gap, unless it is required.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from ferrule.catalog import BUILT_IN_DISTRIBUTIONS
from ferrule.trust import is_required
from ferrule_hookspecs.slots import HOOK_GROUP

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ferrule.entry import Entry
    from ferrule.trust import Governance, Standing

_GAPS: Final = frozenset({"untrusted", "incompatible", "clash", "broken"})


class Guard(NamedTuple):
    """A plugin that must not be missing and may not be used; what it judges is refused.

    Attributes:
        label: The plugin with its origin.
        reason: Why it may not be used.
        hooks: What it serves; empty when it was never imported, which stands for everything.
        role: Why it must not be missing.
    """

    label: str
    reason: str
    hooks: tuple[str, ...] = ()
    role: str = "is required"


def absent_guards(standings: Sequence[Standing], governance: Governance) -> dict[str, Guard]:
    """Name the guards that cannot be used, each under a name that no usable plugin has."""
    hooks = [s for s in standings if s.entry.group == HOOK_GROUP]
    usable = {s.entry.name for s in hooks if s.state == "active"}
    found: dict[str, Guard] = {}
    for entry, state, reason in hooks:
        if state == "active":
            continue
        is_taken = entry.name in usable or entry.name in found
        name = f"{entry.name} of {entry.distribution}" if is_taken else entry.name
        if is_required(entry, governance):
            found[name] = Guard(entry.label, reason, entry.hooks)
        elif state in _GAPS and is_guard(entry):
            found[name] = Guard(entry.label, reason, _known_hooks(entry), "guards")
    return found


def is_guard(entry: Entry) -> bool:
    """Tell whether an entry guards, as far as anything is known without importing it."""
    if entry.manifest.guards or entry.manifest_fault:
        return True
    approval = entry.approval
    if approval is None or entry.distribution in BUILT_IN_DISTRIBUTIONS:
        return False
    hooks = approval.hooks or entry.hooks
    is_unknown = entry.group == HOOK_GROUP and not hooks and entry.probe is None
    return approval.guards or is_unknown or bool(_judging(hooks))


def _known_hooks(entry: Entry) -> tuple[str, ...]:
    """The hooks a guard is known to serve; empty when any may be among them."""
    if entry.hooks:
        return entry.hooks
    return entry.approval.hooks if entry.approval else ()


def _judging(hooks: Sequence[str]) -> list[str]:
    from ferrule_hookspecs import hooks as _  # noqa: F401 -- importing it fills the contracts
    from ferrule_hookspecs.markers import HOOK_CONTRACTS

    return [
        hook for hook in hooks if hook in HOOK_CONTRACTS and HOOK_CONTRACTS[hook].kind == "assess"
    ]
