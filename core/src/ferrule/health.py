"""How each plugin fares: one state, why, how long it takes, with whom it clashes, what to do.

For `ferrule plugins doctor`, and for what is said of a plugin that was just added.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from ferrule.hook_times import HookTime, hook_times

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ferrule.entry import Entry
    from ferrule.trust import Standing, State

HealthState = Literal["active", "slow", "disabled", "untrusted", "incompatible", "broken"]

IMPORT_BUDGET_MS: Final = 50.0
_ENOUGH_CALLS: Final = 5
_PART_OF_DEADLINE: Final = 0.1


class Health(NamedTuple):
    """How one plugin fares.

    Attributes:
        entry: The plugin.
        state: Its state.
        why: Why it is not simply active; empty when it is.
        times: How long its hooks take, as far as they were called.
        clashes: Distributions that want the same name.
        mend: What to do; empty when there is nothing to do.
    """

    entry: Entry
    state: HealthState
    why: str
    times: tuple[HookTime, ...]
    clashes: tuple[str, ...]
    mend: str


def health_of(
    standings: Sequence[Standing], rows: Mapping[str, Mapping[str, object]]
) -> list[Health]:
    """Examine every plugin; `rows` are the times that were kept."""
    rivals: dict[tuple[str, str], list[str]] = {}
    for entry, state, _ in standings:
        if state in ("active", "clash", "broken"):
            rivals.setdefault((entry.group, entry.name), []).append(entry.distribution)
    return [_health(standing, rows, rivals) for standing in standings]


def _health(
    standing: Standing,
    rows: Mapping[str, Mapping[str, object]],
    rivals: Mapping[tuple[str, str], Sequence[str]],
) -> Health:
    entry = standing.entry
    times = hook_times(entry, rows)
    others = rivals.get((entry.group, entry.name), ())
    clashes = tuple(sorted(name for name in others if name != entry.distribution))
    state, why = _verdict(standing, times)
    mend = mend_of(entry, standing.state, standing.reason)
    if state == "slow":
        name = entry.distribution
        mend = f"tell its publisher, or go without it: ferrule plugins disable {name}"
    return Health(entry, state, why, times, clashes, mend)


def mend_of(entry: Entry, state: State, reason: str) -> str:
    """Say what a user can do about a plugin that is not used; empty when there is nothing."""
    name = entry.distribution
    match state:
        case "active":
            return ""
        case "disabled":
            is_listed = "plugins.disabled" in reason
            return f"ferrule plugins enable {entry.name}" if is_listed else ""
        case "blocked":
            return f"ferrule plugins remove {name}"
        case "clash":
            return f"give it the name as said, or go without it: ferrule plugins disable {name}"
        case "untrusted" if "plugins.allow" in reason:
            return "ask whoever keeps plugins.allow, or list it there"
        case "untrusted" if entry.approval and entry.approval.fault:
            return "mend the file that is named, or remove it and approve again"
        case "untrusted":
            return f"ferrule plugins show {name}; ferrule plugins trust {name}"
        case "incompatible" | "broken":
            return entry.mend


def _verdict(standing: Standing, times: Sequence[HookTime]) -> tuple[HealthState, str]:
    state, reason = standing.state, standing.reason
    if state == "active":
        slow = _slowness(standing.entry, times)
        return ("slow", slow) if slow else ("active", "")
    if state == "blocked":
        return "disabled", f"blocked: {reason}"
    return ("disabled", reason) if state in ("disabled", "clash") else (state, reason)


def _slowness(entry: Entry, times: Sequence[HookTime]) -> str:
    faults: list[str] = []
    if entry.import_ms > IMPORT_BUDGET_MS:
        faults.append(f"its import takes {entry.import_ms:.0f} ms, more than {IMPORT_BUDGET_MS:g}")
    for time in times:
        budget = _PART_OF_DEADLINE * time.limit_ms
        if len(time.times_ms) >= _ENOUGH_CALLS and time.p95_ms > budget:
            faults.append(
                f"{time.hook} takes {time.p95_ms:.0f} ms in 95 of 100 calls, more than {budget:g}"
            )
    return "; ".join(faults)
