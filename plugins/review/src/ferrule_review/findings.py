"""The answer of a reviewer: read into findings, and shown to people. Nothing it says is lost."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, cast

from ferrule_hookspecs.change_review import ReviewFinding, ReviewFindings, ReviewResult

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_KEYS: Final = ("findings", "overall_explanation", "overall_correctness")
_LEAST_URGENT: Final = 3
_NOTHING: Final = "The review found nothing to report."


def read_answer(text: str) -> ReviewResult:
    """Make findings out of what the model wrote; plain words become the explanation."""
    answer = _json_of(text)
    if answer is None:
        plain = text.strip()
        return ReviewResult(plain or _NOTHING, _findings([], {"overall_explanation": plain}))
    given = answer.get("findings")
    listed = cast("Sequence[object]", given) if isinstance(given, list) else ()
    read = [finding for each in listed if (finding := _finding(each)) is not None]
    findings = _findings(read, answer)
    return ReviewResult(rendered(findings), findings)


def rendered(findings: ReviewFindings) -> str:
    """Return findings as text for people."""
    blocks = [findings["overall_explanation"]] if findings["overall_explanation"] else []
    if findings["findings"]:
        many = len(findings["findings"]) > 1
        blocks.append("Review comments:" if many else "Review comment:")
        blocks += [_shown(finding) for finding in findings["findings"]]
    return "\n\n".join(blocks) or findings["overall_correctness"] or _NOTHING


def _shown(finding: ReviewFinding) -> str:
    location = finding["code_location"]
    lines, path = location["line_range"], location["absolute_file_path"]
    place = f"{path}:{lines['start']}-{lines['end']}" if lines["start"] else path
    head = f"- {finding['title']}" + (f" — {place}" if path else "")
    return "\n".join([head, *(f"  {line}".rstrip() for line in finding["body"].splitlines())])


def _json_of(text: str) -> Mapping[str, object] | None:
    """Find the answer: the whole text, or the one object that stands in it."""
    begin, end = text.find("{"), text.rfind("}")
    for candidate in (text, text[begin : end + 1] if 0 <= begin < end else ""):
        try:
            found: object = json.loads(candidate)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict) and any(key in found for key in _KEYS):
            return cast("Mapping[str, object]", found)
    return None


def _findings(read: list[ReviewFinding], answer: Mapping[str, object]) -> ReviewFindings:
    return {
        "findings": read,
        "overall_correctness": _text(answer.get("overall_correctness")),
        "overall_explanation": _text(answer.get("overall_explanation")),
        "overall_confidence_score": _score(answer.get("overall_confidence_score")),
    }


def _finding(value: object) -> ReviewFinding | None:
    """Read one finding; one that says nothing is none."""
    table = _table(value)
    title, body = _text(table.get("title")), _text(table.get("body"))
    if not title and not body:
        return _finding({"body": value}) if isinstance(value, str) and value.strip() else None
    location = _table(table.get("code_location"))
    lines = _table(location.get("line_range"))
    start = max(_whole(lines.get("start")) or 0, 0)
    return {
        "title": title or body.splitlines()[0],
        "body": body,
        "confidence_score": _score(table.get("confidence_score")),
        "priority": _priority(table.get("priority")),
        "code_location": {
            "absolute_file_path": _text(location.get("absolute_file_path")),
            "line_range": {"start": start, "end": max(_whole(lines.get("end")) or 0, start)},
        },
    }


def _table(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, dict) else {}


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _priority(value: object) -> int | None:
    number = _whole(value)
    return None if number is None else min(max(number, 0), _LEAST_URGENT)


def _score(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0.0
    return float(min(max(value, 0), 1)) if value == value else 0.0  # NaN equals nothing
