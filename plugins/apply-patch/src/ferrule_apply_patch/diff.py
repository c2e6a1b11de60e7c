"""Shows edits as unified hunks, the way clients render them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ferrule_apply_patch.document import Document, Splice

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_CONTEXT: Final = 3
_NO_NEWLINE: Final = "\n\\ No newline at end of file\n"


def unified(old: Sequence[str], splices: Iterable[Splice]) -> str:
    """Render edits as hunks with three lines of context.

    Args:
        old: The lines before the edits, with their line ends.
        splices: The edits, in order, not overlapping.
    """
    shift = 0
    hunks: list[str] = []
    for group in _groups(splices):
        hunk, grown = _hunk(old, group, shift)
        hunks.append(hunk)
        shift += grown
    return "".join(hunks)


def between(old: str, new: str) -> str:
    """Render the change from one text to another as a single hunk around all that differs."""
    before, after = Document(old).lines, Document(new).lines
    head = 0
    while head < min(len(before), len(after)) and before[head] == after[head]:
        head += 1
    tail = 0
    while tail < min(len(before), len(after)) - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    end = len(before) - tail
    return unified(before, [Splice(head, end, tuple(after[head : len(after) - tail]))])


def _groups(splices: Iterable[Splice]) -> Iterator[list[Splice]]:
    """Put edits together whose context would touch; leave out edits that change nothing."""
    group: list[Splice] = []
    for splice in splices:
        if splice.start == splice.end and not splice.new:
            continue
        if group and splice.start - group[-1].end > 2 * _CONTEXT:
            yield group
            group = []
        group.append(splice)
    if group:
        yield group


def _hunk(old: Sequence[str], group: Sequence[Splice], shift: int) -> tuple[str, int]:
    start = max(group[0].start - _CONTEXT, 0)
    end = min(group[-1].end + _CONTEXT, len(old))
    grown = sum(len(splice.new) - (splice.end - splice.start) for splice in group)
    lines = [f"@@ -{_span(start, end - start)} +{_span(start + shift, end - start + grown)} @@\n"]
    at = start
    for splice in group:
        lines += _prefixed(" ", old[at : splice.start])
        lines += _prefixed("-", old[splice.start : splice.end])
        lines += _prefixed("+", splice.new)
        at = splice.end
    lines += _prefixed(" ", old[at:end])
    return "".join(lines), grown


def _prefixed(sign: str, lines: Sequence[str]) -> list[str]:
    return [sign + (line if line.endswith("\n") else line + _NO_NEWLINE) for line in lines]


def _span(start: int, length: int) -> str:
    if length == 1:
        return str(start + 1)
    return f"{start + 1 if length else start},{length}"
