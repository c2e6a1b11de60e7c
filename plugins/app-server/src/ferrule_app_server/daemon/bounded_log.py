"""A log that stays small: what the process writes to stdout and stderr goes through it."""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

LIMIT: Final = 1024 * 1024
_CHUNK: Final = 64 * 1024
_TAIL: Final = 4 * 1024
_LAST_WORDS_S: Final = 1


class BoundedLog:
    """A file and the one before it, each at most `LIMIT` bytes, readable by the user alone."""

    def __init__(self, path: Path, limit: int = LIMIT) -> None:
        self._path = path
        self._limit = limit

    def write(self, data: bytes) -> None:
        """Append; what cannot be written is lost."""
        with suppress(OSError):
            if self._size() + len(data) > self._limit:
                os.replace(self._path, self._path.with_name(f"{self._path.name}.1"))
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
            file = os.open(self._path, flags, 0o600)
            try:
                os.write(file, data)
            finally:
                os.close(file)

    def tail(self) -> str:
        """Return the end of what was said last."""
        try:
            with self._path.open("rb") as file:
                file.seek(max(0, self._size() - _TAIL))
                return file.read().decode("utf-8", "replace").strip()
        except OSError:
            return ""

    def _size(self) -> int:
        try:
            return self._path.lstat().st_size
        except FileNotFoundError:
            return 0


@contextmanager
def logging_output(log: BoundedLog) -> Iterator[None]:
    """Send stdout and stderr of this process and its children to a log."""
    reader, writer = os.pipe()
    for stream in (1, 2):
        os.dup2(writer, stream)
    os.close(writer)
    copying = threading.Thread(target=_copy, args=(reader, log), daemon=True)
    copying.start()
    try:
        yield
    finally:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for stream in (1, 2):
            os.dup2(nowhere, stream)
        os.close(nowhere)
        copying.join(_LAST_WORDS_S)  # a child may hold the other end for longer


def _copy(reader: int, log: BoundedLog) -> None:
    while data := os.read(reader, _CHUNK):
        log.write(data)
    os.close(reader)
