"""What access lists were changed for commands, written down before it is done.

A process that is killed cannot take its entries back. The next one finds its journal, sees by the
lock that nobody holds that its writer is gone, and does it. What stays until then grants nothing to
anybody: the identity in the entries is made up, and the commands that had it ended with the writer.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import sys
from typing import TYPE_CHECKING, Final, NamedTuple, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

_SUFFIX: Final = ".journal"
_LOCKED_BYTE: Final = 1 << 40
"""Far behind the end of the file, since on Windows a locked byte cannot be read by others."""


class Record(NamedTuple):
    """An identity, and paths whose access lists may name it."""

    sid: str
    paths: tuple[str, ...]


class Journal:
    """The journal of this process: locked as long as it lives."""

    def __init__(self, folder: Path) -> None:
        """Begin a journal in a folder, which is made where it is missing.

        Raises:
            OSError: It cannot be written.
        """
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._path = folder / f"{secrets.token_hex(8)}{_SUFFIX}"
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        self._file = os.open(self._path, flags, 0o600)
        if not _lock(self._file):  # nobody else knows its name yet
            raise OSError(0, f"{self._path} cannot be locked")

    def write(self, record: Record) -> None:
        """Write down what is about to be changed; it is on disk when this returns."""
        line = json.dumps(record).encode() + b"\n"
        os.lseek(self._file, 0, os.SEEK_END)
        if os.write(self._file, line) != len(line):
            raise OSError(0, f"{self._path} could not be written to its end")
        os.fsync(self._file)

    def finish(self) -> None:
        """Forget all: everything was taken back."""
        self.keep()
        with contextlib.suppress(FileNotFoundError):
            self._path.unlink()

    def keep(self) -> None:
        """Let go of it for others to act on: not everything could be taken back."""
        os.close(self._file)


def mend_abandoned(folder: Path, mend: Callable[[list[Record]], bool]) -> int:
    """Act on the journals of processes that are gone; returns how many are settled.

    Args:
        folder: Where journals are kept.
        mend: Takes back what was recorded; returns whether all of it could be.
    """
    settled = 0
    for path in sorted(folder.glob(f"*{_SUFFIX}")):
        try:
            file = os.open(path, os.O_RDWR | getattr(os, "O_BINARY", 0))
        except OSError:  # taken away by another process, or not to be opened while that runs
            continue
        try:
            is_settled = _lock(file) and mend(_records(path))
        finally:
            os.close(file)
        if is_settled:
            path.unlink(missing_ok=True)
            settled += 1
    return settled


def _records(path: Path) -> list[Record]:
    """Read a journal. A last line that is torn was never acted on."""
    found: list[Record] = []
    for line in path.read_bytes().split(b"\n"):
        try:
            sid, paths = cast("tuple[str, Sequence[str]]", json.loads(line))
        except (ValueError, TypeError):
            continue
        found.append(Record(sid, tuple(paths)))
    return found


def _lock(file: int) -> bool:
    """Lock a file until it is closed or this process ends; returns whether nobody else has."""
    try:
        if sys.platform == "win32":
            import msvcrt

            os.lseek(file, _LOCKED_BYTE, os.SEEK_SET)
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
