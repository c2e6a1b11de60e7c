"""Finds where the chunks of an update go in its file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_apply_patch.document import Document, Edit
from ferrule_apply_patch.matcher import Haystack
from ferrule_apply_patch.parser import Chunk, PatchError

if TYPE_CHECKING:
    from collections.abc import Iterable


def locate_edits(document: Document, chunks: Iterable[Chunk], path: str) -> list[Edit]:
    """Find each chunk below the one before it.

    Args:
        document: The file.
        chunks: What to change, in the order of the file.
        path: The file's name, for messages.

    Raises:
        PatchError: Some lines are not there.
    """
    bodies = document.bodies()
    haystack = Haystack(bodies)
    at = 0
    edits: list[Edit] = []
    for chunk in chunks:
        if chunk.place is not None:
            place = haystack.find([chunk.place], at)
            if place is None:
                raise PatchError(f"Failed to find context '{chunk.place}' in {path}")
            at = place + 1
        old = [text for kind, text in chunk.lines if kind != "+"]
        if not old:
            edits.append(_appended(bodies, chunk))
            continue
        start, chunk = _located(haystack, chunk, at)
        if start is None:
            raise PatchError(f"Failed to find expected lines in {path}:\n" + "\n".join(old))
        edits += _runs(chunk, start)
        at = start + sum(kind != "+" for kind, _ in chunk.lines)
    return edits


def _located(haystack: Haystack, chunk: Chunk, at: int) -> tuple[int | None, Chunk]:
    """Find a chunk; an empty line at its end may be one the file does not have."""
    old = [text for kind, text in chunk.lines if kind != "+"]
    start = haystack.find(old, at, at_end=chunk.at_end)
    if start is None and len(old) > 1 and not old[-1]:
        shorter = _without_last_empty_line(chunk)
        return haystack.find(old[:-1], at, at_end=chunk.at_end), shorter
    return start, chunk


def _without_last_empty_line(chunk: Chunk) -> Chunk:
    last = max(index for index, (kind, _) in enumerate(chunk.lines) if kind != "+")
    return chunk._replace(lines=chunk.lines[:last] + chunk.lines[last + 1 :])


def _appended(bodies: list[str], chunk: Chunk) -> Edit:
    """A chunk of added lines only goes to the end, above an empty last line."""
    end = len(bodies) - 1 if bodies and not bodies[-1] else len(bodies)
    return Edit(end, end, tuple(text for _, text in chunk.lines))


def _runs(chunk: Chunk, start: int) -> list[Edit]:
    """The changed lines between lines of context, which stay as the file has them."""
    edits: list[Edit] = []
    at, removed, added = start, 0, list[str]()
    for kind, text in (*chunk.lines, (" ", "")):
        if kind == "-":
            removed += 1
        elif kind == "+":
            added.append(text)
        else:
            if removed or added:
                edits.append(Edit(at, at + removed, tuple(added)))
            at, removed, added = at + removed + 1, 0, []
    return edits
