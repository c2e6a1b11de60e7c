"""The kernel's own file access for tools: local files under the policy of the attempt.

What a backend enforces for commands is decided here for tools that run in the kernel's process, by
the same resolver and the same evaluator.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING, Final, Literal

from ferrule.file_batch import FileBatch
from ferrule.folder_walk import open_folder
from ferrule.view_paths import canonical_in
from ferrule_hookspecs.evaluator import canonical, decide_canonical
from ferrule_hookspecs.sandbox import (
    Denial,
    DirectoryEntry,
    FileEdit,
    FileStat,
    ResolvedPolicy,
    WriteFile,
)
from ferrule_hookspecs.tools import SandboxDeniedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ferrule_hookspecs.evaluator import Operation

_LARGE: Final = 1024 * 1024  # below it a thread costs more than the work


class LocalFiles:
    """This machine's files as a policy allows them; satisfies `FileSystem`."""

    def __init__(self, policy: ResolvedPolicy, root: str = "") -> None:
        """Keep the policy, and the folder in which `/` of a view lies; empty without a view."""
        self._policy = policy
        self._root = root

    def check(self, operation: Literal["read", "write"], path: str) -> Denial | None:
        """Tell what the policy would refuse, without touching the file.

        A link that would be written is judged twice: as the file it leads to and as the name it is,
        because an edit may put another file in its place.
        """
        denial = self._decide(operation, path)
        if denial is None and operation == "write":
            denial = self._decide("remove", path)
        return denial

    async def stat(self, path: str) -> FileStat | None:
        """Look at a path; None when nothing is there."""
        try:
            facts = os.stat(self._seen(path))
        except (FileNotFoundError, NotADirectoryError):
            return None
        kind: Literal["file", "directory", "other"] = "other"
        if stat.S_ISREG(facts.st_mode):
            kind = "file"
        elif stat.S_ISDIR(facts.st_mode):
            kind = "directory"
        return FileStat(kind, facts.st_size, stat.S_IMODE(facts.st_mode))

    async def read(self, path: str, *, limit: int | None = None) -> bytes:
        """Read a file, at most `limit` bytes.

        Raises:
            SandboxDeniedError: The policy refuses.
            OSError: There is no such file, or it is not a regular one.
        """
        place = self._canonical(path, "read")
        self._allow("read", path, place)
        size = os.stat(self._root + place).st_size
        if min(size, size if limit is None else limit) < _LARGE:
            return _read(place, limit, self._root)
        from anyio import to_thread  # heavy, and only needed here

        return await to_thread.run_sync(_read, place, limit, self._root)

    async def list(self, path: str) -> Sequence[DirectoryEntry]:
        """List a folder, sorted by name.

        Raises:
            SandboxDeniedError: The policy refuses.
            OSError: There is no such folder.
        """
        place = self._canonical(path, "read")
        self._allow("read", path, place)
        with os.scandir(self._root + place) as entries:
            return sorted(map(_entry, entries), key=lambda entry: entry.name)

    async def apply(self, edits: Sequence[FileEdit]) -> None:
        """Make all edits or none: what fails midway is undone before the error is raised.

        Raises:
            SandboxDeniedError: The policy refuses one of them.
            OSError: One of them failed.
        """
        placed = [(self._canonical(edit.path, _operation(edit)), edit) for edit in edits]
        for place, edit in placed:
            self._allow("write", edit.path, place)
        batch = FileBatch(placed, self._root)
        size = sum(len(edit.data) for edit in edits if isinstance(edit, WriteFile))
        if size < _LARGE:
            batch.apply()
            return
        from anyio import CancelScope, to_thread  # heavy, and only needed here

        with CancelScope(shield=True):  # the thread would go on all the same
            await to_thread.run_sync(batch.apply)

    def _decide(self, operation: Operation, path: str) -> Denial | None:
        return decide_canonical(self._policy, operation, self._canonical(path, operation))

    def _canonical(self, path: str, operation: Operation) -> str:
        if not self._root:
            return canonical(path, operation)
        return canonical_in(self._root, path, operation)

    def _seen(self, path: str) -> str:
        """Where this process finds a path."""
        return self._root + self._canonical(path, "read") if self._root else path

    def _allow(self, operation: Literal["read", "write"], path: str, place: str) -> None:
        """Judge a path as it was named and the canonical place that will be used for it."""
        denial = self.check(operation, path) or decide_canonical(self._policy, operation, place)
        if denial is not None:
            raise SandboxDeniedError(denial)


def _operation(edit: FileEdit) -> Operation:
    """Writing follows a link, removing does not."""
    return "write" if isinstance(edit, WriteFile) else "remove"


def _read(path: str, limit: int | None, root: str) -> bytes:
    parent, name = os.path.split(path)
    folder = open_folder(parent, root=root)
    try:
        flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(name, flags, dir_fd=folder)
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) from error
    finally:
        os.close(folder)
    with os.fdopen(descriptor, "rb", buffering=0) as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", path)
        return file.read() if limit is None else _read_up_to(descriptor, limit)


def _read_up_to(descriptor: int, limit: int) -> bytes:
    chunks: list[bytes] = []
    while limit > 0 and (chunk := os.read(descriptor, limit)):
        chunks.append(chunk)
        limit -= len(chunk)
    return b"".join(chunks)


def _entry(entry: os.DirEntry[str]) -> DirectoryEntry:
    if entry.is_symlink():
        return DirectoryEntry(entry.name, "symlink")
    if entry.is_dir():
        return DirectoryEntry(entry.name, "directory")
    return DirectoryEntry(entry.name, "file" if entry.is_file() else "other")
