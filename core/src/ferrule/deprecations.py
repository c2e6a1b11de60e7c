"""What plugins use of the contract that will be gone, and how it is told.

The probe finds it; `ferrule plugins` shows it, and every session says it once. pluggy's own
warnings for arguments are Python warnings, which reach a developer's terminal and no session.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ferrule.entry import Entry
    from ferrule_hookspecs.markers import HookContract


def deprecated_uses(
    served: Mapping[str, Sequence[str]], contracts: Mapping[str, HookContract]
) -> tuple[str, ...]:
    """Say which hooks and arguments of a module are deprecated.

    Args:
        served: The hooks it serves, each with the arguments it takes.
        contracts: What the contract says about every hook.
    """
    found: list[str] = []
    for hook, arguments in sorted(served.items()):
        deprecated = contracts[hook].deprecated
        if isinstance(deprecated, str):
            found += [f"the hook {hook} is deprecated {deprecated}"] if deprecated else []
            continue
        found += [
            f"the argument {argument!r} of the hook {hook} is deprecated {deprecated[argument]}"
            for argument in arguments
            if argument in deprecated
        ]
    return tuple(found)


def deprecation_notices(entries: Iterable[Entry]) -> list[str]:
    """Word what the given plugins use, for whoever uses a session; they go on working for now."""
    return [
        f"{entry.label} goes on working for now: {use}; update {entry.distribution}"
        for entry in entries
        for use in entry.deprecated
    ]
