"""What an import did, entry by entry: for people as text, for programs as JSON."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Area = Literal["config", "rules", "skills", "prompts", "mcp", "sessions", "other"]
Status = Literal[
    "taken",
    "changed",
    "restored",
    "waiting",
    "danger",
    "secret",
    "trust",
    "kept",
    "present",
    "left",
    "damaged",
    "failed",
]

AREAS: Final[tuple[Area, ...]] = ("config", "rules", "skills", "prompts", "mcp", "sessions")
"""What can be asked for by itself; the area `other` is only ever told about."""

MEANINGS: Final[dict[Status, str]] = {
    "taken": "taken over",
    "changed": "taken over, and means something else here",
    "restored": "taken over; Codex dropped it, here it works",
    "waiting": "taken over; no installed part reads it yet",
    "danger": "dangerous",
    "secret": "taken over; holds a secret in the clear",
    "trust": "taken over; a decision of trust",
    "kept": "yours was kept, Codex's differs",
    "present": "there already",
    "left": "not taken over",
    "damaged": "damaged lines left out",
    "failed": "FAILED",
}
_QUIET: Final = ("taken", "present")
"""Statuses that the text only counts, except in the configuration."""
_MOST_NAMES: Final = 5


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing of the source and what became of it.

    Attributes:
        area: The part of the import.
        name: A configuration key, a path below the source, or a thread's id.
        status: What became of it.
        note: Why, in words; never the value of a secret.
    """

    area: Area
    name: str
    status: Status
    note: str = ""


@dataclass(slots=True)
class Report:
    """Everything that was found."""

    source: str
    target: str
    dry_run: bool
    findings: list[Finding] = field(default_factory=list[Finding])

    def add(self, area: Area, name: str, status: Status, note: str = "") -> None:
        """Note one thing."""
        self.findings.append(Finding(area, name, status, note))

    def extend(self, findings: Iterable[Finding]) -> None:
        """Note several things."""
        self.findings.extend(findings)

    @property
    def has_failures(self) -> bool:
        """Whether something should have been taken over and was not."""
        return any(finding.status == "failed" for finding in self.findings)

    def counts(self) -> dict[str, dict[str, int]]:
        """Count by area and status."""
        counted = Counter((finding.area, finding.status) for finding in self.findings)
        table: dict[str, dict[str, int]] = {}
        for (area, status), count in counted.items():
            table.setdefault(area, {})[status] = count
        return table

    def as_json(self) -> dict[str, object]:
        """Return everything."""
        return {
            "schemaVersion": 1,
            "source": self.source,
            "target": self.target,
            "dryRun": self.dry_run,
            "ok": not self.has_failures,
            "counts": self.counts(),
            "findings": [asdict(finding) for finding in self.findings],
        }

    def as_text(self) -> str:
        """Return a table: what needs attention line by line, the rest as counts."""
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        done = "would bring" if self.dry_run else "brought"
        yield f"{done} {self.source} over to {self.target}"
        counts = self.counts()
        for area in (*AREAS, "other"):
            if area not in counts:
                continue
            yield ""
            summary = ", ".join(f"{count} {status}" for status, count in counts[area].items())
            yield f"{area}: {summary}"
            yield from self._details(area)
        yield ""
        yield from self._legend()

    def _details(self, area: Area) -> Iterator[str]:
        if area in ("config", "mcp"):
            for finding in self._of(area):
                note = f"  {finding.note}" if finding.note else ""
                yield f"  {finding.status:<9} {printable(finding.name + note)}"
            return
        for (status, note), names in self._grouped(area).items():
            shown = names if area == "other" else names[:_MOST_NAMES]
            more = f" and {len(names) - len(shown)} more" if len(shown) < len(names) else ""
            lead = "" if area == "other" else f"{status:<9} "
            yield printable(f"  {lead}{', '.join(shown)}{more}: {note}")

    def _grouped(self, area: Area) -> dict[tuple[Status, str], list[str]]:
        """Collect the names that share a reason: there are many names, and few reasons."""
        groups: dict[tuple[Status, str], list[str]] = {}
        for finding in self._of(area):
            if finding.status not in _QUIET:
                groups.setdefault((finding.status, finding.note), []).append(finding.name)
        return groups

    def _of(self, area: Area) -> Iterator[Finding]:
        return (finding for finding in self.findings if finding.area == area)

    def _legend(self) -> Iterator[str]:
        used = {finding.status for finding in self.findings}
        yield from (f"{status:<9} {words}" for status, words in MEANINGS.items() if status in used)


def printable(text: str) -> str:
    """Return a text with everything spelt out that could move a terminal's cursor."""
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape", "replace").decode()
        for char in text
    )
