"""Differences of text files: unified diffs, and files with only some of their hunks taken over."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

_CONTEXT: Final = 3
_MOST_LINES: Final = 50_000
_NO_END: Final = "\n\\ No newline at end of file\n"

OpCode = tuple[str, int, int, int, int]


class Hunk(NamedTuple):
    """One place of a file that differs.

    Attributes:
        number: From 1.
        text: As in a unified diff, its header included.
        codes: What `difflib` says about it.
    """

    number: int
    text: str
    codes: Sequence[OpCode]


def as_lines(data: bytes | None) -> list[str] | None:
    """The lines of a text, with their ends; None for what is no text or too long to compare."""
    if data is None:
        return []
    if b"\0" in data[:8192]:
        return None
    try:
        *whole, rest = data.decode().split("\n")  # nothing else ends a line of a diff
    except UnicodeDecodeError:
        return None
    lines = [f"{line}\n" for line in whole] + ([rest] if rest else [])
    return lines if len(lines) <= _MOST_LINES else None


def find_hunks(before: Sequence[str], after: Sequence[str]) -> list[Hunk]:
    """Where two texts differ."""
    matcher = difflib.SequenceMatcher(None, before, after)
    groups = [group for group in matcher.get_grouped_opcodes(_CONTEXT) if group]
    return [
        Hunk(number, _text(group, before, after), group)
        for number, group in enumerate(groups, start=1)
        if any(code[0] != "equal" for code in group)
    ]


def with_hunks(
    before: Sequence[str], after: Sequence[str], hunks: Sequence[Hunk], chosen: Collection[int]
) -> str:
    """The first text with only the chosen hunks of the second."""
    taken: list[str] = []
    position = 0
    for hunk in hunks:
        for tag, start, stop, from_, to in hunk.codes:
            taken += before[position:start]
            is_new = tag != "equal" and hunk.number in chosen
            taken += after[from_:to] if is_new else before[start:stop]
            position = stop
    return "".join([*taken, *before[position:]])


def _text(group: Sequence[OpCode], before: Sequence[str], after: Sequence[str]) -> str:
    first, last = group[0], group[-1]
    lines = [f"@@ -{_range(first[1], last[2])} +{_range(first[3], last[4])} @@\n"]
    for tag, start, stop, from_, to in group:
        if tag == "equal":
            lines += [_line(" ", each) for each in before[start:stop]]
            continue
        lines += [_line("-", each) for each in before[start:stop]]
        lines += [_line("+", each) for each in after[from_:to]]
    return "".join(lines)


def _line(sign: str, line: str) -> str:
    return f"{sign}{line}" if line.endswith("\n") else f"{sign}{line}{_NO_END}"


def _range(start: int, stop: int) -> str:
    length = stop - start
    if length == 1:
        return str(start + 1)
    return f"{start + 1 if length else start},{length}"
