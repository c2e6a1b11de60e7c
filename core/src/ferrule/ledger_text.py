"""Writes the ledger down for the model, within a bound, and says what was folded together.

What is told once is not told again: a command that was run three times has one line, and a file one
with what it held last. Where that is still too long the oldest lines become counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from ferrule.context import message
from ferrule.ledger import goal_of, plan_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ferrule.ledger import CommandEntry, Entry, FileEntry
    from ferrule_hookspecs.history import MessageItem

_MOST_BYTES: Final = 48 * 1024
_BYTES_PER_WINDOW_TOKEN: Final = 0.5
"""An eighth of the window, at four bytes a token."""
_END: Final = "</ledger>"
_END_WITHIN: Final = "<\\/ledger>"
_MARKS: Final = ("constraint:", "remember:")
_RUNNING: Final = "inProgress"
_STILL: Final = "still running"
_CHANGES: Final = ("added", "edited", "deleted")

_INTRODUCTION: Final = (
    "The harness keeps this ledger itself; every line of it happened. A file whose hash is still"
    " the same need not be read again, and a command that is listed need not be run again for its"
    " effect."
)


class _Section(NamedTuple):
    """Lines under a title, the oldest first."""

    title: str
    lines: list[str]
    fails: list[bool]

    def folded(self, room: int) -> list[str]:
        """Return the section in about so many bytes; the oldest lines become one."""
        if not self.lines:
            return []
        kept, used = len(self.lines), 0
        while kept and (used := used + len(self.lines[kept - 1].encode()) + 1) <= room:
            kept -= 1
        shown = self.lines[kept:]
        if kept:
            failed = sum(self.fails[:kept])
            words = f", {failed} of them failed" if failed else ""
            shown.insert(0, f"- [… {kept} older lines are folded together here{words} …]")
        return [f"## {self.title}", *shown]


def ledger_message(
    entries: Sequence[Entry], user_texts: Iterable[str], window: int | None
) -> MessageItem | None:
    """Return the ledger as a message; None where there is nothing in it."""
    bound = (
        _MOST_BYTES if window is None else min(_MOST_BYTES, int(window * _BYTES_PER_WINDOW_TOKEN))
    )
    sections = [
        _constraints(user_texts),
        _goal(entries),
        _plan(entries),
        _files(entries),
        _commands([each for each in entries if each["kind"] == "command"]),
        _calls(entries),
    ]
    sections = [section for section in sections if section.lines]
    if not sections:
        return None
    lines = ["<ledger>", _INTRODUCTION]
    room = bound
    for number, section in enumerate(sections):
        share = room // (len(sections) - number)
        shown = section.folded(share)
        room -= sum(len(line.encode()) + 1 for line in shown)
        lines += shown
    return message("user", "\n".join([*lines, _END]))


def _constraints(user_texts: Iterable[str]) -> _Section:
    """Lines of the user that begin with one of the marks."""
    lines = [line.strip() for text in user_texts for line in text.splitlines()]
    marked = [f"- {line}" for line in lines if line.lower().startswith(_MARKS)]
    marked = list(dict.fromkeys(marked))
    return _Section("What the user marked as lasting", marked, [False] * len(marked))


def _goal(entries: Sequence[Entry]) -> _Section:
    goal = goal_of(entries)
    is_open = goal is not None and goal["status"] not in ("", "complete")
    lines = [f"- [{goal['status']}] {_one_line(goal['text'])}"] if goal and is_open else []
    return _Section("Goal", lines, [False] * len(lines))


def _plan(entries: Sequence[Entry]) -> _Section:
    steps = plan_of(entries)
    open_steps = [step for step in steps if step["status"] != "completed"]
    words = {"inProgress": "in progress", "pending": "pending"}
    lines = [f"- [{words[step['status']]}] {_one_line(step['step'])}" for step in open_steps]
    if done := len(steps) - len(open_steps):
        lines.insert(0, f"- {done} steps are completed")
    return _Section("Plan", lines, [False] * len(lines))


def _files(entries: Sequence[Entry]) -> _Section:
    """One line a file, in the order in which they were last touched."""
    latest: dict[str, FileEntry] = {}
    hows: dict[str, set[str]] = {}
    for entry in entries:
        if entry["kind"] == "file":
            latest.pop(entry["path"], None)
            latest[entry["path"]] = entry
            hows.setdefault(entry["path"], set()).add(entry["how"])
    lines = [_file_line(entry, hows[path]) for path, entry in latest.items()]
    return _Section("Files", lines, [False] * len(lines))


def _file_line(entry: FileEntry, hows: set[str]) -> str:
    path = _one_line(entry["path"])  # a stranger may have named the file
    if entry["how"] == "deleted":
        return f"- {path}: deleted"
    done = [how for how in (*_CHANGES, "read") if how in hows and how != "deleted"]
    kind = "" if " " in (entry["hash"] or "") else "sha256 "  # of a large file, its size
    held = f" ({kind}{entry['hash']})" if entry["hash"] else ""
    return f"- {path}: {', '.join(done)}{held}"


def _commands(entries: Sequence[CommandEntry]) -> _Section:
    """One line a command, in the order in which they were last run."""
    latest: dict[str, CommandEntry] = {}
    times: dict[str, int] = {}
    for entry in entries:
        text = _one_line(entry["text"])
        latest.pop(text, None)
        latest[text] = entry
        times[text] = times.get(text, 0) + 1
    lines = [f"- {_end(entry)}{_often(times[text])}: {text}" for text, entry in latest.items()]
    return _Section("Commands", lines, [entry["exit"] != 0 for entry in latest.values()])


def _end(entry: CommandEntry) -> str:
    if entry["exit"] is not None:
        return f"exit {entry['exit']}"
    if entry["status"] == _RUNNING:
        return _STILL
    return "refused" if entry["status"] == "declined" else "no exit code"


def _calls(entries: Sequence[Entry]) -> _Section:
    latest: dict[str, str] = {}
    times: dict[str, int] = {}
    for entry in entries:
        if entry["kind"] == "call":
            text = _one_line(entry["text"])
            latest.pop(text, None)
            latest[text] = _STILL if entry["status"] == _RUNNING else entry["status"]
            times[text] = times.get(text, 0) + 1
    lines = [f"- {status}{_often(times[text])}: {text}" for text, status in latest.items()]
    return _Section("Other calls", lines, [status != "completed" for status in latest.values()])


def _often(times: int) -> str:
    return f" (last of {times})" if times > 1 else ""


def _one_line(text: str) -> str:
    return " ⏎ ".join(text.splitlines()).replace(_END, _END_WITHIN)
