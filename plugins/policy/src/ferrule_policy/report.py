"""Shows a replay: to people, and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ferrule_policy.comparison import Comparison, Line
    from ferrule_policy.coverage import Coverage
    from ferrule_policy.past import Past
    from ferrule_policy.redecision import Redecision
    from ferrule_policy.replay import Outcome

_DECISIONS: Final = ("allow", "ask", "deny", "unknown")


class Report(NamedTuple):
    """All there is to say about a replay."""

    past: Past
    comparison: Comparison
    outcome: Outcome
    policy: str
    against: str = ""
    coverage: Coverage | None = None

    def text(self, *, only_changed: bool) -> str:
        """Say it to people."""
        comparison = self.comparison
        shown = comparison.changed if only_changed else comparison.lines
        lines = [_line(line) for line in shown]
        lines += ["", *self._summary(), *self._faults()]
        return "\n".join(lines).lstrip("\n")

    def _summary(self) -> Iterator[str]:
        comparison = self.comparison
        head = self.against or "as recorded"
        width = max(len(head), len(self.policy), 12)
        counts = f"{len(comparison.lines)} decisions of {self.past.sessions} sessions"
        yield f"{counts}, {len(comparison.changed)} changed"
        yield f"  {'':{width}}" + "".join(f"{name:>9}" for name in _DECISIONS)
        for name, found in ((head, comparison.before), (self.policy, comparison.after)):
            yield f"  {name:{width}}" + "".join(f"{found.get(key, 0):>9}" for key in _DECISIONS)
        recorded = comparison.recorded
        if recorded and not comparison.is_diff:
            same = sum(line.is_identical for line in recorded)
            yield (
                f"{same} of {len(recorded)} decisions that were stored with their facts are "
                f"identical ({100 * same / len(recorded):.1f} %), opinions and reasons included"
            )
        if self.past.unjudged:
            yield f"{self.past.unjudged} calls were never judged, or not kept as they were judged"
        if self.coverage is not None:
            yield from _coverage(self.coverage)

    def _faults(self) -> Iterator[str]:
        if self.outcome.left_out:
            names = ", ".join(sorted(self.outcome.left_out))
            yield f"not asked again, as it may run programs: {names}; what it said then counts"
        for folder, fault in self.outcome.faults.items():
            yield f"cannot be told for calls in {folder}: {fault}"
        for notice in dict.fromkeys(self.outcome.notices):
            yield f"warning: {notice}"

    def as_json(self) -> dict[str, object]:
        """Say it to programs."""
        comparison = self.comparison
        recorded = comparison.recorded
        return {
            "policy": self.policy,
            "against": self.against or None,
            "sessions": self.past.sessions,
            "unjudged": self.past.unjudged,
            "before": dict(comparison.before),
            "after": dict(comparison.after),
            "recorded": len(recorded),
            "identical": sum(line.is_identical for line in recorded),
            "changed": len(comparison.changed),
            "decisions": [_as_json(line) for line in comparison.lines],
            "coverage": None if self.coverage is None else self.coverage._asdict(),
            "leftOut": sorted(self.outcome.left_out),
            "faults": self.outcome.faults,
            "notices": list(dict.fromkeys(self.outcome.notices)),
        }


def _line(line: Line) -> str:
    sign = "!" if line.is_changed else " "
    would = line.now.decision if line.now else "unknown"
    text = f"{sign} {line.was:>7} -> {would:<7} {line.action.shown}"
    if line.is_changed and line.now is not None:
        rule = f" [{line.now.rule}]" if line.now.rule else ""
        text += f"\n    {line.now.reason}{rule}"
    return text


def _coverage(found: Coverage) -> Iterator[str]:
    total = len(found.used) + len(found.unused)
    if not total:
        return
    yield f"{len(found.used)} of {total} rules decided something"
    yield from (f"  decided nothing: {rule}" for rule in found.unused)


def _as_json(line: Line) -> dict[str, object]:
    action, recorded = line.action, line.action.recorded
    return {
        "session": action.thread_id,
        "callId": action.call.call_id,
        "tool": action.call.tool,
        "command": action.script or None,
        "cwd": action.cwd,
        "phase": action.phase,
        "recorded": {
            "decision": recorded.decision,
            "answer": recorded.answer or None,
            "reason": recorded.reason,
            "rule": recorded.rule,
        },
        "now": _decision(line.now),
        "against": _decision(line.other),
        "changed": line.is_changed,
    }


def _decision(found: Redecision | None) -> Mapping[str, object] | None:
    if found is None:
        return None
    return {"decision": found.decision, "reason": found.reason, "rule": found.rule}
