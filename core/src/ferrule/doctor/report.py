"""Shows findings: as JSON for programs, grouped by category with marks for people."""

from __future__ import annotations

import json
import shutil
import textwrap
from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING, Final, NamedTuple

from ferrule import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ferrule.doctor.battery import Finding

SCHEMA_VERSION: Final = 1
_STATUSES: Final = ("ok", "warn", "fail", "skip")
_MARKS: Final = {"ok": "✓", "warn": "!", "fail": "✗", "skip": "-"}
_PLAIN_MARKS: Final = {"ok": "ok", "warn": "!!", "fail": "XX", "skip": "--"}
_COLOURS: Final = {"ok": "32", "warn": "33", "fail": "31", "skip": "2"}
_BOLD: Final = "1"


class Style(NamedTuple):
    """How text is shown.

    Attributes:
        has_colour: Whether colours may be used.
        is_unicode: Whether more than ASCII may be used.
        is_complete: Whether skipped checks, times and plugins are shown, too.
        is_wrapped: Whether long lines are broken at the terminal's width.
    """

    has_colour: bool = False
    is_unicode: bool = True
    is_complete: bool = False
    is_wrapped: bool = False

    def paint(self, code: str, text: str) -> str:
        """Colour a text."""
        return f"\x1b[{code}m{text}\x1b[0m" if self.has_colour else text


def counts(findings: Sequence[Finding]) -> dict[str, int]:
    """Count findings by status."""
    found = Counter(finding.check.status for finding in findings)
    return {status: found[status] for status in _STATUSES}


def as_json(findings: Sequence[Finding], repairs: Sequence[str] | None) -> str:
    """Return the document of `--json`; `repairs` is there only where repairing was asked for."""
    document: dict[str, object] = {
        "schemaVersion": SCHEMA_VERSION,
        "ferruleVersion": __version__,
        "checks": [
            {
                "id": finding.check.id,
                "category": finding.category,
                "status": finding.check.status,
                "detail": finding.check.detail,
                "mend": finding.check.mend or None,
                "durationMs": finding.duration_ms,
                "plugin": finding.plugin or None,
            }
            for finding in findings
        ],
        "summary": counts(findings),
    }
    if repairs is not None:
        document["repairs"] = list(repairs)
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def as_text(findings: Sequence[Finding], repairs: Sequence[str] | None, style: Style) -> str:
    """Return what people read."""
    lines: list[str] = []
    shown = [f for f in findings if style.is_complete or f.check.status != "skip"]
    for category, group in groupby(shown, key=lambda finding: finding.category):
        lines += [style.paint(_BOLD, category)]
        for finding in group:
            lines += _lines(finding, style)
        lines.append("")
    if repairs is not None:
        lines += [style.paint(_BOLD, "repairs")]
        lines += [line for text in repairs or ["nothing needed repair"] for line in _item(text)]
        lines.append("")
    return "\n".join([*lines, _summary(findings), ""])


def _lines(finding: Finding, style: Style) -> Iterator[str]:
    check = finding.check
    mark = (_MARKS if style.is_unicode else _PLAIN_MARKS)[check.status]
    name = check.id.partition(".")[2]
    text = f"{name}: {check.detail}"
    if style.is_complete:
        maker = f", plugin {finding.plugin}" if finding.plugin else ""
        text += f" ({finding.duration_ms:g} ms{maker})"
    head = f"  {style.paint(_COLOURS[check.status], mark)} "
    yield from _wrapped(head, " " * (3 + len(mark)), text, style)
    if check.mend and check.status in {"warn", "fail"}:
        arrow = "→" if style.is_unicode else "->"
        yield from _wrapped(f"    {arrow} ", " " * (5 + len(arrow)), check.mend, style)


def _wrapped(head: str, indent: str, text: str, style: Style) -> Iterator[str]:
    lines = text.splitlines() or [""]
    if style.is_wrapped:
        width = max(shutil.get_terminal_size().columns - len(indent), 40)
        lines = [
            piece
            for line in lines
            for piece in textwrap.wrap(line, width, break_long_words=False, break_on_hyphens=False)
        ]
    yield head + lines[0]
    yield from (indent + line for line in lines[1:])


def _item(text: str) -> list[str]:
    first, *rest = text.splitlines() or [""]
    return [f"  * {first}", *(f"    {line}" for line in rest)]


def _summary(findings: Sequence[Finding]) -> str:
    number = counts(findings)
    words = [f"{number['ok']} ok"]
    words += [f"{number['warn']} to look at"] if number["warn"] else []
    words += [f"{number['fail']} failed"] if number["fail"] else []
    words += [f"{number['skip']} skipped"] if number["skip"] else []
    return f"{len(findings)} checks: {', '.join(words)}"
