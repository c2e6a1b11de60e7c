"""Reads a corpus: one JSON object a line, a command with what should be decided about it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from ferrule_hookspecs.errors import FerruleError

if TYPE_CHECKING:
    from pathlib import Path

LABELS: Final = ("allow", "ask", "deny", "unlabelled")


class Case(NamedTuple):
    """A command.

    Attributes:
        command: The shell script.
        label: What should be decided: allow, ask or deny; or unlabelled.
        category: What kind of command it is.
        source: Where it comes from.
    """

    command: str
    label: str = "unlabelled"
    category: str = ""
    source: str = ""


def read_corpus(path: Path, limit: int | None) -> list[Case]:
    """Read the cases of a file.

    Raises:
        FerruleError: A line is no case; names the line.
    """
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise FerruleError(f"the corpus {path} cannot be read: {why}") from None
    numbered = [(number, line) for number, line in enumerate(lines, 1) if line.strip()]
    cases = [_case(line, f"{path}:{number}") for number, line in numbered[:limit]]
    if not cases:
        raise FerruleError(f"the corpus {path} holds no case")
    return cases


def _case(line: str, place: str) -> Case:
    try:
        value: object = json.loads(line)
    except (ValueError, RecursionError):
        raise FerruleError(f"{place}: not a JSON object") from None
    table = cast("dict[str, object]", value) if isinstance(value, dict) else {}
    command, label = table.get("command"), str(table.get("label") or "unlabelled")
    if not isinstance(command, str):
        raise FerruleError(f"{place}: a case needs a `command`, a text")
    if label not in LABELS:
        raise FerruleError(f"{place}: the label {label!r} must be one of {', '.join(LABELS)}")
    return Case(command, label, str(table.get("category") or ""), str(table.get("source") or ""))
