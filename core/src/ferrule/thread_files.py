"""Where threads lie under `$FERRULE_HOME`: names of rollout files and how to find them.

Used by the store for single threads and by the index for all of them. Names are enough to find a
thread by its id, so nothing that starts or resumes a thread needs the index.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, NamedTuple

from ferrule.ids import uuid7_seconds

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_PREFIX, _SUFFIX = "rollout-", ".jsonl"
_STAMP_END = len(_PREFIX) + len("YYYY-MM-DDTHH-MM-SS")
_ANY_DIGIT = str.maketrans("123456789", "000000000")
_DAY_S = 86_400


class RolloutFile(NamedTuple):
    """A rollout as the file system knows it.

    Attributes:
        path: Where it lies.
        thread_id: The id in its name.
        archived: Whether it lies among the archived ones.
        size: Bytes.
        mtime_ns: When it last changed.
    """

    path: str
    thread_id: str
    archived: bool
    size: int
    mtime_ns: int


def is_thread_id(text: str) -> bool:
    """Whether a text may stand in a file name as a thread's id."""
    letters = text.replace("-", "").replace("_", "")
    return letters.isalnum() and text.isascii() and text[0].isalnum()


def make_private_dirs(folder: Path) -> None:
    """Make a folder and its missing parents, readable by their owner only."""
    if folder.is_dir():
        return
    make_private_dirs(folder.parent)
    folder.mkdir(mode=0o700, exist_ok=True)


class ThreadFiles:
    """The folders `sessions/YYYY/MM/DD` and `archived_sessions` of a home."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.sessions = home / "sessions"
        self.archive = home / "archived_sessions"

    def new_path(self, thread_id: str, created_at: float) -> Path:
        """Return where a new thread belongs; times in names are UTC."""
        stamp = time.strftime("%Y-%m-%dT%H-%M-%S", time.gmtime(created_at))
        return self._day(stamp[:10]) / f"rollout-{stamp}-{thread_id}.jsonl"

    def active_path(self, archived: Path) -> Path:
        """Return where an archived rollout belongs when it is taken back."""
        start = len(_PREFIX)
        return self._day(archived.name[start : start + len("YYYY-MM-DD")]) / archived.name

    def locate(self, thread_id: str) -> RolloutFile | None:
        """Find a thread by its id: first where its time of birth says, then everywhere."""
        if not is_thread_id(thread_id):
            return None
        ending = f"-{thread_id}.jsonl"
        for folder, archived in self._likely_folders(thread_id):
            for found in _rollouts_in(folder, archived=archived, ending=ending):
                if found.thread_id == thread_id:
                    return found
        return next((found for found in self.scan(ending) if found.thread_id == thread_id), None)

    def scan(self, ending: str = ".jsonl") -> Iterator[RolloutFile]:
        """Yield every rollout whose name ends so, archived ones last."""
        for year in _subfolders(str(self.sessions)):
            for month in _subfolders(year):
                for day in _subfolders(month):
                    yield from _rollouts_in(day, archived=False, ending=ending)
        yield from _rollouts_in(str(self.archive), archived=True, ending=ending)

    def _day(self, date: str) -> Path:
        return self.sessions.joinpath(*date.split("-"))

    def _likely_folders(self, thread_id: str) -> Iterator[tuple[str, bool]]:
        seconds = uuid7_seconds(thread_id)
        if seconds is None:
            return
        for shift in (0, -_DAY_S, _DAY_S):  # names made by other programs are in local time
            date = time.strftime("%Y-%m-%d", time.gmtime(max(0.0, seconds + shift)))
            yield str(self._day(date)), False
        yield str(self.archive), True


def _thread_id(name: str) -> str | None:
    """Return the id in a rollout's name, or None; compiling a pattern would cost a millisecond."""
    stamp = name[len(_PREFIX) : _STAMP_END].translate(_ANY_DIGIT)
    thread_id = name[_STAMP_END + 1 : -len(_SUFFIX)]
    if name != f"{_PREFIX}{name[len(_PREFIX) : _STAMP_END]}-{thread_id}{_SUFFIX}":
        return None
    return thread_id if stamp == "0000-00-00T00-00-00" and is_thread_id(thread_id) else None


def _subfolders(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entry.path for entry in entries if entry.is_dir())
    except (FileNotFoundError, NotADirectoryError):
        return []


def _rollouts_in(folder: str, *, archived: bool, ending: str) -> Iterator[RolloutFile]:
    try:
        entries = os.scandir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return
    with entries:
        for entry in entries:
            thread_id = _thread_id(entry.name) if entry.name.endswith(ending) else None
            if thread_id is None:
                continue
            try:
                stat = entry.stat()
            except FileNotFoundError:
                continue  # archived or deleted since the folder was read
            yield RolloutFile(entry.path, thread_id, archived, stat.st_size, stat.st_mtime_ns)
