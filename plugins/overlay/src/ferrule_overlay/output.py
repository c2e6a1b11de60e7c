"""What `ferrule changes` prints: for people, and as JSON."""

from __future__ import annotations

import json
import os
import sys
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from ferrule_overlay.hunks import as_lines, find_hunks
from ferrule_overlay.selection import contents, obstacle

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ferrule_hookspecs.sandbox import ResolvedPolicy
    from ferrule_overlay.change import Change
    from ferrule_overlay.hunks import Hunk
    from ferrule_overlay.journal import Batch
    from ferrule_overlay.shelf import Shelf
    from ferrule_overlay.taking_over import Result
    from ferrule_overlay.tree import Entry


class Facts(NamedTuple):
    """What is to be told beside the changes.

    Attributes:
        is_open: Whether a session of the thread is open.
        policy: What may be written; None where nothing is to be judged.
        recovered: Batches that had been cut off and were finished just now.
    """

    is_open: bool
    policy: ResolvedPolicy | None
    recovered: Sequence[Batch] = ()


def nothing(*, as_json: bool) -> int:
    """Say that there is no thread with an overlay here."""
    if as_json:
        _print(json.dumps({"thread": None, "changes": []}))
    else:
        _print("no session with an overlay has worked in this folder")
    return 0


def show(shelf: Shelf, changes: Sequence[Change], facts: Facts, *, as_json: bool) -> None:
    """Print pending changes with their differences."""
    rows = [_row(shelf, change, facts.policy) for change in changes]
    if as_json:
        about = shelf.about
        table = {
            "thread": shelf.thread_id,
            "cwd": "" if about is None else about.cwd,
            "roots": [root.path for root in shelf.roots],
            "mechanism": "" if about is None else about.mechanism,
            "isOpen": facts.is_open,
            "recovered": [batch.number for batch in facts.recovered],
            "changes": rows,
        }
        _print(json.dumps(table, indent=2))
        return
    for batch in facts.recovered:
        _print(f"batch {batch.number} had been cut off and is finished now")
        for place, reason in batch.left.items():
            _print(f"  left: {place}: {reason}")
    word = "change" if len(rows) == 1 else "changes"
    _print(f"{len(rows)} pending {word} of thread {shelf.thread_id}")
    if facts.is_open:
        _print("a session of this thread is open: the list may grow")
    for row in rows:
        notes = [row[key] for key in ("conflict", "obstacle") if row[key]]
        note = f"  ({'; '.join(notes)})" if notes else ""
        _print(f"  {row['kind']:<9} {row['path']}{note}")
    for row in rows:
        _print(f"\n{row['diff']}".rstrip("\n"))


def tell(shelf: Shelf, what: str, result: Result, *, as_json: bool) -> int:
    """Print what became of a command; returns the exit code."""
    if as_json:
        left = [{"path": path, "reason": reason} for path, reason in result.left.items()]
        done = {"thread": shelf.thread_id, "batch": result.batch or None}
        _print(json.dumps({**done, "done": list(result.done), "left": left}, indent=2))
        return 1 if result.left else 0
    for place in result.done:
        _print(f"{what}: {_short(shelf, place)}")
    for place, reason in result.left.items():
        _print(f"left: {_short(shelf, place)}: {reason}")
    if result.batch:
        _print(f"batch {result.batch}; take it back with: ferrule changes rollback")
    if not result.done and not result.left:
        _print("there is nothing to do")
    return 1 if result.left else 0


def tell_undo(shelf: Shelf) -> None:
    """Say how files that were taken back are had again."""
    _print(f"undo it with: ferrule changes rewind --undo {shelf.thread_id}")


def show_log(shelf: Shelf, batches: Sequence[Batch], *, as_json: bool) -> None:
    """Print the batches of a thread."""
    rows = [
        {
            "number": batch.number,
            "kind": batch.kind,
            "of": batch.of or None,
            "madeAt": int(batch.made_at),
            "isEnded": batch.done is not None,
            "paths": [
                os.path.join(shelf.roots[root].path, path) for root, path in batch.done or ()
            ],
        }
        for batch in batches
    ]
    if as_json:
        _print(json.dumps({"thread": shelf.thread_id, "batches": rows}, indent=2))
        return
    for batch in batches:
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(batch.made_at))
        what = f"{batch.kind} of {batch.of}" if batch.of else batch.kind
        state = "cut off" if batch.done is None else f"{len(batch.done)} paths"
        _print(f"{batch.number:>4}  {when}  {what}  {state}")
    if not batches:
        _print("nothing was applied yet")


def _row(shelf: Shelf, change: Change, policy: ResolvedPolicy | None) -> dict[str, Any]:
    hunks, diff = _difference(shelf, change)
    return {
        "path": _short(shelf, change.place),
        "place": change.place,
        "kind": change.kind,
        "before": _entry(change.before),
        "after": _entry(change.after),
        "conflict": change.conflict,
        "obstacle": "" if policy is None else obstacle(change, policy),
        "hunks": [{"number": hunk.number, "text": hunk.text} for hunk in hunks],
        "diff": diff,
    }


def _entry(entry: Entry | None) -> dict[str, Any] | None:
    if entry is None:
        return None
    known: dict[str, Any] = {"kind": entry.kind}
    if entry.kind == "symlink":
        return {**known, "target": entry.digest}
    known["mode"] = f"{entry.mode:04o}"
    return {**known, "size": entry.size, "sha256": entry.digest} if entry.digest else known


def _difference(shelf: Shelf, change: Change) -> tuple[Sequence[Hunk], str]:
    """The hunks of a change, and its text in the manner of `git diff`."""
    path, before, after = _short(shelf, change.place), change.before, change.after
    lines = [f"diff a/{path} b/{path}", *_heading(before, after)]
    if not any(entry is not None and entry.kind == "file" for entry in (before, after)):
        return (), "\n".join(lines)
    if before is not None and after is not None and before.digest == after.digest:
        return (), "\n".join(lines)
    old, new = contents(shelf, change)
    was, becomes = as_lines(old), as_lines(new)
    if was is None or becomes is None:
        sizes = f"{len(old or b'')} -> {len(new or b'')} bytes"
        return (), "\n".join([*lines, f"Binary file {path} differs ({sizes})"])
    hunks = find_hunks(was, becomes)
    lines += [
        "--- /dev/null" if old is None else f"--- a/{path}",
        "+++ /dev/null" if new is None else f"+++ b/{path}",
    ]
    return hunks, "\n".join([*lines, *(hunk.text.rstrip("\n") for hunk in hunks)])


def _heading(before: Entry | None, after: Entry | None) -> list[str]:
    lines: list[str] = []
    if before is None and after is not None:
        lines.append(f"new {_what(after)}")
    elif after is None and before is not None:
        lines.append(f"deleted {_what(before)}")
    elif before is not None and after is not None and before.kind != after.kind:
        lines += [f"old {_what(before)}", f"new {_what(after)}"]
    elif before is not None and after is not None and before.mode != after.mode:
        lines += [f"old mode {before.mode:04o}", f"new mode {after.mode:04o}"]
    elif before is not None and after is not None and before.kind == "symlink":
        lines += [f"old {_what(before)}", f"new {_what(after)}"]
    return lines


def _what(entry: Entry) -> str:
    if entry.kind == "symlink":
        return f"symbolic link to {entry.digest}"
    return f"{entry.kind} mode {entry.mode:04o}"


def _short(shelf: Shelf, place: str) -> str:
    """A path as it is told: relative to the workspace where it lies in it."""
    workspace = shelf.roots[0].path if shelf.roots else ""
    return place.removeprefix(f"{workspace}/") if workspace else place


def _print(text: str) -> None:
    """Write a line, bytes of names that are no UTF-8 as they are."""
    sys.stdout.flush()
    sys.stdout.buffer.write(f"{text}\n".encode(errors="surrogateescape"))
    sys.stdout.buffer.flush()
