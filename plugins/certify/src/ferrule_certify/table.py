"""What people read: verdicts by group, what did not hold, and the list of probes."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from ferrule_certify.certificate import Subject, is_failure, passed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ferrule_certify.examination import Result
    from ferrule_certify.probe import Probe, Verdict

_COLUMNS: Final[tuple[Verdict, ...]] = (
    *("held", "works", "escaped", "broken", "unsupported", "not applicable", "unclear"),
)
_GOOD: Final = ("held", "works", "not applicable")


def result_table(subject: Subject, results: Sequence[Result]) -> str:
    """Show an examination."""
    groups = list(dict.fromkeys(_group(result.probe) for result in results))
    rows: list[tuple[str, ...]] = [("", *_COLUMNS)]
    for group in groups:
        counts = Counter(r.verdict for r in results if _group(r.probe) == group)
        rows.append((group, *(str(counts[column] or "") for column in _COLUMNS)))
    total = Counter(result.verdict for result in results)
    rows.append(("all", *(str(total[column] or "") for column in _COLUMNS)))
    lines = [f"{subject.name} {subject.version} ({subject.distribution})".strip(), ""]
    lines += _aligned(rows)
    remarks = [line for result in results for line in _remarks(result)]
    if remarks:
        lines += ["", *remarks]
    word = "passed" if passed(results) else "FAILED"
    failing = sum(map(is_failure, results))
    return "\n".join([*lines, "", f"{word}: {len(results)} probes, {failing} failures"]) + "\n"


def probe_list(probes: Sequence[Probe]) -> str:
    """List probes with what they claim."""
    rows = [
        (probe.id, probe.kind, probe.feature or "", ", ".join(probe.modes), probe.claim)
        for probe in probes
    ]
    return "\n".join(_aligned([("id", "kind", "feature", "modes", "claim"), *rows])) + "\n"


def _remarks(result: Result) -> list[str]:
    """Say of every trial that did not end well how it ended."""
    lines: list[str] = []
    for trial in result.trials:
        verdicts = {"alone": trial.quiet, "racing": trial.racing}
        bad = {when: verdict for when, verdict in verdicts.items() if verdict not in _GOOD}
        if bad:
            words = ", ".join(f"{verdict} {when}" for when, verdict in bad.items())
            note = " (good to have)" if result.probe.is_extra else ""
            lines.append(f"{result.probe.id} [{trial.mode}] {words}{note}: {trial.detail[:160]}")
    return lines


def _group(probe: Probe) -> str:
    return probe.id.partition(".")[0]


def _aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
