"""The Codex home as it may be read: plain files below one folder, and never through a link.

The home may hold anything, so nothing here follows a link out of it, waits at a pipe, or reads a
file whole that is larger than expected. Nothing is ever opened for writing.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO, Final

from ferrule_hookspecs.errors import FerruleError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_FLAGS: Final = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
_NO_LINK: Final = getattr(os, "O_NOFOLLOW", 0)
_DEEPEST: Final = 16


class UnreadableError(FerruleError):
    """A file of the source was not read; the message says why, without the file's name."""


@dataclass(frozen=True, slots=True)
class Entry:
    """Something found below a folder.

    Attributes:
        name: Its path relative to the home, with `/`.
        path: Where it lies.
        problem: Why it cannot be taken over; empty for a plain file.
        size: Bytes.
    """

    name: str
    path: Path
    problem: str = ""
    size: int = 0


@dataclass(frozen=True, slots=True)
class CodexHome:
    """A folder laid out like `$CODEX_HOME`."""

    root: Path

    def top(self) -> list[str]:
        """List the names directly below the home."""
        return sorted(os.listdir(self.root))

    def has(self, name: str) -> bool:
        """Whether something of that name is there, a dangling link included."""
        return os.path.lexists(self.root / name)

    def read(self, name: str, *, limit: int) -> bytes:
        """Read a small file whole.

        Raises:
            UnreadableError: It is no plain file, leads elsewhere, or is too large.
        """
        with self.open(self.root / name) as file:
            data = file.read(limit + 1)
        if len(data) > limit:
            raise UnreadableError(f"larger than {limit >> 20} MiB")
        return data

    def open(self, path: Path) -> BinaryIO:
        """Open a plain file for reading.

        Raises:
            UnreadableError: It is no plain file, or leads out of the home.
        """
        try:
            if path.parent.resolve() != self.root / path.parent.relative_to(self.root):
                raise UnreadableError("reached through a link; links are not followed")
            descriptor = os.open(path, _FLAGS | _NO_LINK)
        except OSError as error:
            raise UnreadableError(_reason(path, error)) from None
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise UnreadableError("no plain file")
        return open(descriptor, "rb")

    def walk(self, folder: str) -> Iterator[Entry]:
        """Yield every file below a folder in the order of their names; links with their problem."""
        yield from self._walk(self.root / folder, folder, _DEEPEST)

    def _walk(self, folder: Path, name: str, depth: int) -> Iterator[Entry]:
        try:
            if folder.is_symlink():
                yield Entry(name, folder, "a link; links are not followed, copy it by hand")
                return
            with os.scandir(folder) as found:
                children = sorted(found, key=lambda entry: entry.name)
        except OSError as error:
            if not isinstance(error, FileNotFoundError):
                yield Entry(name, folder, error.strerror or "unreadable")
            return
        for child in children:
            inner = f"{name}/{child.name}"
            if child.is_dir(follow_symlinks=False):
                if depth:
                    yield from self._walk(folder / child.name, inner, depth - 1)
                else:
                    yield Entry(inner, folder / child.name, "nested too deeply")
            else:
                yield _entry(child, inner, folder)


def _entry(child: os.DirEntry[str], name: str, folder: Path) -> Entry:
    path = folder / child.name
    if child.is_symlink():
        return Entry(name, path, "a link; links are not followed, copy it by hand")
    try:
        facts = child.stat(follow_symlinks=False)
    except OSError as error:
        return Entry(name, path, error.strerror or "unreadable")
    if not stat.S_ISREG(facts.st_mode):
        return Entry(name, path, "no plain file")
    return Entry(name, path, size=facts.st_size)


def _reason(path: Path, error: OSError) -> str:
    if path.is_symlink():
        return "a link; links are not followed, put the file itself in its place"
    return error.strerror or "unreadable"
