"""One folder of this machine, seen by relative paths and never through a symbolic link.

The workspace, the upper layer of an overlay and a copy of the workspace are all looked at this way.
"""

from __future__ import annotations

import hashlib
import os
import stat
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

Kind = Literal["file", "directory", "symlink", "special"]

_BLOCK: Final = 1024 * 1024
_FOLDER: Final = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC


class Entry(NamedTuple):
    """What a path stands for, told by its content.

    Attributes:
        kind: What it is.
        mode: Permission bits; 0 for a link, which has none.
        digest: SHA-256 of a file's content, the target of a link, nothing else.
        size: Of a file's content, in bytes.
        owner: User and group.
    """

    kind: Kind
    mode: int = 0
    digest: str = ""
    size: int = 0
    owner: tuple[int, int] = (-1, -1)

    @property
    def is_folder(self) -> bool:
        """Whether it holds others."""
        return self.kind == "directory"


def same(one: Entry | None, other: Entry | None) -> bool:
    """Whether two paths hold the same; who owns them does not matter."""
    if one is None or other is None:
        return one is other
    return one[:3] == other[:3]


def kind_of(mode: int) -> Kind:
    """Name what a file status is of."""
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "directory"
    return "symlink" if stat.S_ISLNK(mode) else "special"


class Tree:
    """A folder, and what lies in it by relative path."""

    def __init__(self, path: str) -> None:
        """Take the folder's absolute path."""
        self.path = path

    @contextmanager
    def folder_of(self, relative: str) -> Generator[tuple[int, str]]:
        """Open the folder in which a path lies; yields it with the path's last name.

        Raises:
            OSError: A component is missing, is no folder or is a link.
        """
        *names, last = relative.split("/")
        here = os.open(self.path, _FOLDER & ~os.O_NOFOLLOW)
        try:
            for name in names:
                below = os.open(name, _FOLDER, dir_fd=here)
                os.close(here)
                here = below
            yield here, last
        finally:
            os.close(here)

    def status(self, relative: str) -> os.stat_result | None:
        """The status of a path itself; None where nothing is."""
        try:
            with self.folder_of(relative) as (folder, name):
                return os.lstat(name, dir_fd=folder)
        except (FileNotFoundError, NotADirectoryError):
            return None

    def look(self, relative: str) -> Entry | None:
        """What a path stands for; None where nothing is.

        Raises:
            OSError: It cannot be read.
        """
        try:
            with self.folder_of(relative) as (folder, name):
                return look_in(folder, name)
        except (FileNotFoundError, NotADirectoryError):
            return None

    def read(self, relative: str) -> bytes:
        """The content of a file."""
        with self.folder_of(relative) as (folder, name):
            descriptor = os.open(name, _FILE, dir_fd=folder)
            with os.fdopen(descriptor, "rb") as file:
                return file.read()

    def names(self, relative: str = "") -> list[str]:
        """The names in a folder, sorted; none where it is no folder."""
        place = os.path.join(self.path, relative) if relative else self.path
        try:
            return sorted(os.listdir(place)) if not os.path.islink(place) else []
        except (FileNotFoundError, NotADirectoryError):
            return []

    def walk(self) -> Iterator[tuple[str, os.stat_result]]:
        """Everything below the folder, with its status; folders before what they hold."""
        pending = [""]
        while pending:
            folder = pending.pop()
            try:
                with os.scandir(os.path.join(self.path, folder)) as entries:
                    found = [(entry.name, entry.stat(follow_symlinks=False)) for entry in entries]
            except (FileNotFoundError, NotADirectoryError):
                continue  # gone since its name was read
            for name, status in found:
                relative = f"{folder}/{name}" if folder else name
                yield relative, status
                if stat.S_ISDIR(status.st_mode):
                    pending.append(relative)


def look_in(folder: int, name: str) -> Entry | None:
    """What a name of an open folder stands for; None where nothing is."""
    try:
        status = os.lstat(name, dir_fd=folder)
        owner = (status.st_uid, status.st_gid)
        kind = kind_of(status.st_mode)
        if kind == "symlink":
            return Entry(kind, 0, os.readlink(name, dir_fd=folder), owner=owner)
        mode = stat.S_IMODE(status.st_mode)
        if kind != "file":
            return Entry(kind, mode, owner=owner)
        descriptor = os.open(name, _FILE, dir_fd=folder)
    except FileNotFoundError:
        return None
    with os.fdopen(descriptor, "rb", buffering=0) as file:
        digest, size = digest_of(file.fileno())
    return Entry(kind, mode, digest, size, owner)


def digest_of(descriptor: int) -> tuple[str, int]:
    """SHA-256 of what is read from a descriptor, and how much that is."""
    digest, size = hashlib.sha256(), 0
    while chunk := os.read(descriptor, _BLOCK):
        digest.update(chunk)
        size += len(chunk)
    return digest.hexdigest(), size
