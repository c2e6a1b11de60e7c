"""The workspace as it was when a session began: what conflicts are told by.

A file counts as unchanged while its mode, size, inode and both time stamps are those that were
seen. Where a file had been changed just before it was looked at, stamps cannot tell a further
change of the same moment, so its content is remembered as well. What is on neither list came later.
"""

from __future__ import annotations

import bisect
import json
import os
import stat
import time
from typing import TYPE_CHECKING, Final, NamedTuple

from ferrule_overlay.private_file import write_private
from ferrule_overlay.tree import Tree, kind_of

if TYPE_CHECKING:
    from collections.abc import Iterable

_RECENT_NS: Final = 2_000_000_000
_MOST_HASHED: Final = 64 * 1024 * 1024


class Stamp(NamedTuple):
    """How one path was: what of its status matters, and a proof where that says too little.

    Attributes:
        kind: What it was.
        mode: Permission bits.
        size: In bytes, of a file.
        modified_ns: When its content was last changed, of a file.
        changed_ns: When its status was last changed, of a file.
        inode: Its number, of a file.
        proof: Digest of a file that had just been changed; the target of a link.
    """

    kind: str
    mode: int = 0
    size: int = 0
    modified_ns: int = 0
    changed_ns: int = 0
    inode: int = 0
    proof: str = ""


class Base:
    """The stamps of one folder, kept in one file."""

    def __init__(self, tree: Tree, file: str) -> None:
        """Read what is kept; nothing where nothing is."""
        self._tree = tree
        self._file = file
        self._rows: dict[str, Stamp] = {}
        self._sorted: list[str] | None = None
        try:
            with open(file, encoding="utf-8") as stored:
                rows: dict[str, list[object]] = json.load(stored)
        except FileNotFoundError:
            return
        self._rows = {path: Stamp(*row) for path, row in rows.items()}  # type: ignore[arg-type]

    def take(self, keep: Iterable[str] = ()) -> None:
        """Look at everything; what `keep` names, and what lies below, stays as it was known."""
        kept = {path for top in keep for path in (top, *self.below(top))}
        old = self._rows
        now, hashed = time.time_ns(), 0
        rows: dict[str, Stamp] = {}
        for path, status in self._tree.walk():
            if path in kept:
                continue
            stamp = self._stamp(path, status)
            if stamp.kind == "file" and now - stamp.changed_ns < _RECENT_NS:
                hashed += stamp.size
                if hashed <= _MOST_HASHED:
                    stamp = stamp._replace(proof=self._digest(path))
            rows[path] = stamp
        rows.update((path, old[path]) for path in kept if path in old)
        self._rows, self._sorted = rows, None
        self.save()

    def refresh(self, paths: Iterable[str]) -> None:
        """Take paths as they are now for what was there in the beginning."""
        for path in paths:
            status = self._tree.status(path)
            if status is None:
                self._rows.pop(path, None)
            else:
                stamp = self._stamp(path, status)
                if stamp.kind == "file":
                    stamp = stamp._replace(proof=self._digest(path))
                self._rows[path] = stamp
        self._sorted = None
        self.save()

    def save(self) -> None:
        """Write everything to its file."""
        write_private(self._file, json.dumps(self._rows, separators=(",", ":")))

    def get(self, path: str) -> Stamp | None:
        """How a path was; None where nothing was there."""
        return self._rows.get(path)

    def everything(self) -> list[str]:
        """Every path that there was."""
        return list(self._rows)

    def below(self, path: str) -> list[str]:
        """What there was below a folder, folders before what they hold."""
        if self._sorted is None:
            self._sorted = sorted(self._rows)
        prefix = f"{path}/"
        start = bisect.bisect_left(self._sorted, prefix)
        found: list[str] = []
        for each in self._sorted[start:]:
            if not each.startswith(prefix):
                break
            found.append(each)
        return found

    def has_drifted(self, path: str) -> bool:
        """Whether a path is not what it was in the beginning."""
        known, status = self._rows.get(path), self._tree.status(path)
        if known is None or status is None:
            return not (known is None and status is None)
        stamp = self._stamp(path, status)
        if known.kind == "file" and known.proof:
            return stamp[:3] != known[:3] or self._digest(path) != known.proof
        return stamp != known

    def _stamp(self, path: str, status: os.stat_result) -> Stamp:
        kind, mode = kind_of(status.st_mode), stat.S_IMODE(status.st_mode)
        if kind == "symlink":
            return Stamp(kind, proof=self._digest(path))
        if kind != "file":
            return Stamp(kind, mode)
        times = status.st_mtime_ns, status.st_ctime_ns
        return Stamp(kind, mode, status.st_size, *times, status.st_ino)

    def _digest(self, path: str) -> str:
        entry = self._tree.look(path)
        return "" if entry is None else entry.digest
