"""The rollouts of a Codex home: which there are, what they are called, and who descends from whom.

Only the first line of each is read here; the rest is streamed when its thread is brought over.
"""

from __future__ import annotations

import json
import re
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, Final

from ferrule_import_codex.report import Finding
from ferrule_import_codex.rollout_lines import Damage, Line, Payload, read_lines
from ferrule_import_codex.source import CodexHome, Entry, UnreadableError
from ferrule_import_codex.tables import as_table

if TYPE_CHECKING:
    from collections.abc import Iterator

_FOLDERS: Final = (("sessions", False), ("archived_sessions", True))
_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
_NAMES: Final = "session_index.jsonl"
_NAMES_LIMIT: Final = 64 << 20
_LONGEST_LINEAGE: Final = 200
_FOUND_CWD: Final = "cwd found in a message"
_EARLY: Final = 4
_FOLDER: Final = re.compile(r"<cwd>([^<\\]*)</cwd>|Current working directory: ([^\\\"]*)")


@dataclass(frozen=True, slots=True)
class SourceRollout:
    """A rollout, by its first line.

    Attributes:
        entry: The file.
        thread_id: The thread.
        created_at: When it began, in Unix seconds.
        archived: Whether it lies among the archived ones.
        parent: The thread whose beginning it borrows.
        borrowed_until: The ordinal at which it leaves that thread.
        cwd: Its folder, where only the first messages tell of it.
    """

    entry: Entry
    thread_id: str
    created_at: float
    archived: bool
    parent: str | None = None
    borrowed_until: int | None = None
    cwd: str = ""


@dataclass(slots=True)
class Library:
    """All rollouts of a home.

    Attributes:
        rollouts: By thread id.
        names: Names that users gave, by thread id.
        findings: What is no rollout.
    """

    home: CodexHome
    rollouts: dict[str, SourceRollout] = field(default_factory=dict[str, SourceRollout])
    names: dict[str, str] = field(default_factory=dict[str, str])
    findings: list[Finding] = field(default_factory=list[Finding])

    @classmethod
    def read(cls, home: CodexHome) -> Library:
        """Look through a home."""
        library = cls(home)
        for folder, archived in _FOLDERS:
            for entry in home.walk(folder):
                library._add(entry, archived=archived)
        library._read_names()
        return library

    def newest_first(self) -> list[SourceRollout]:
        """List the rollouts, the last begun first."""
        found = self.rollouts.values()
        return sorted(found, key=lambda rollout: (rollout.created_at, rollout.thread_id))[::-1]

    def lines(self, rollout: SourceRollout, damage: Damage) -> Iterator[Line]:
        """Yield a thread's records from its first, borrowed ones included.

        Args:
            rollout: The thread.
            damage: Takes the lines of its own file that hold no record.

        Raises:
            UnreadableError: A file cannot be opened.
        """
        chain = self._lineage(rollout)
        with ExitStack() as stack:
            streams = [stack.enter_context(self.home.open(each.entry.path)) for each, _ in chain]
            own = read_lines(streams[-1], damage)
            if first := next(own, None):
                yield first
            for stream, (_, until) in zip(streams[:-1], chain[:-1], strict=True):
                for line in read_lines(stream, Damage()):
                    if line.ordinal < until and line.type != "session_meta":
                        yield line
            yield from own

    def missing_ancestor(self, rollout: SourceRollout) -> str | None:
        """Return the thread that a rollout descends from and that is not there."""
        first = self._lineage(rollout)[0][0]
        return first.parent if first.borrowed_until is not None else None

    def _lineage(self, rollout: SourceRollout) -> list[tuple[SourceRollout, float]]:
        """Return a thread's ancestors and itself, each with the ordinal it is read up to."""
        chain: list[tuple[SourceRollout, float]] = [(rollout, float("inf"))]
        seen = {rollout.thread_id}
        until = float("inf")
        while rollout.borrowed_until is not None and len(chain) < _LONGEST_LINEAGE:
            until = min(until, rollout.borrowed_until)
            parent = self.rollouts.get(rollout.parent or "")
            if parent is None or parent.thread_id in seen:
                break
            rollout = parent
            seen.add(rollout.thread_id)
            chain.append((rollout, until))
        return chain[::-1]

    def _add(self, entry: Entry, *, archived: bool) -> None:
        if not entry.problem and not entry.name.endswith(".jsonl"):
            kind = "compressed; unpack it with zstd first" if entry.name.endswith(".zst") else ""
            self._note(entry, kind or "no rollout")
            return
        problem = entry.problem
        try:
            meta = None if problem else self._first(entry)
        except (UnreadableError, OSError) as error:
            self._note(entry, str(error))
            return
        if problem or meta is None:
            self._note(entry, problem or "does not start with session metadata")
            return
        rollout = _rollout(entry, meta, archived=archived)
        if rollout is None:
            self._note(entry, "its thread has no usable id")
        elif rollout.thread_id in self.rollouts:
            other = self.rollouts[rollout.thread_id].entry.name
            self._note(entry, f"holds the same thread as {other}")
        else:
            self.rollouts[rollout.thread_id] = rollout

    def _first(self, entry: Entry) -> Payload | None:
        with self.home.open(entry.path) as stream:
            lines = read_lines(stream, Damage())
            line = next(lines, None)
            if line is None or line.type != "session_meta":
                return None
            if "cwd" not in line.payload:
                early = islice(lines, _EARLY)
                folders = (_FOLDER.search(json.dumps(each.payload)) for each in early)
                found = next((folder for folder in folders if folder), None)
                return line.payload | {_FOUND_CWD: (found[1] or found[2]) if found else ""}
        return line.payload

    def _note(self, entry: Entry, problem: str) -> None:
        self.findings.append(Finding("sessions", entry.name, "left", problem))

    def _read_names(self) -> None:
        if not self.home.has(_NAMES):
            return
        try:
            data = self.home.read(_NAMES, limit=_NAMES_LIMIT)
        except UnreadableError as error:
            self.findings.append(Finding("sessions", _NAMES, "left", str(error)))
            return
        for line in data.split(b"\n"):
            try:
                entry = as_table(json.loads(line)) or {}
            except (ValueError, RecursionError):
                continue
            thread_id, name = entry.get("id"), entry.get("thread_name")
            if isinstance(thread_id, str) and isinstance(name, str) and name.strip():
                self.names[thread_id] = name


def seconds(stamp: object) -> float | None:
    """Return the Unix time that a text names, or None."""
    if not isinstance(stamp, str):
        return None
    try:
        moment = datetime.fromisoformat(stamp)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def _rollout(entry: Entry, meta: Payload, *, archived: bool) -> SourceRollout | None:
    thread_id = meta.get("id")
    if not isinstance(thread_id, str) or not _ID.fullmatch(thread_id):
        return None
    until, parent = meta.get("forked_from_ordinal_exclusive"), meta.get("forked_from_id")
    created_at = max(0.0, seconds(meta.get("timestamp")) or 0.0)
    if isinstance(until, int) and isinstance(parent, str):
        return SourceRollout(entry, thread_id, created_at, archived, parent, until)
    cwd = str(meta.get(_FOUND_CWD, ""))
    return SourceRollout(entry, thread_id, created_at, archived, cwd=cwd)
