"""This machine's files under a policy, for tools that are tried without a kernel."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Literal

from ferrule_hookspecs.evaluator import decide
from ferrule_hookspecs.sandbox import DirectoryEntry, FileStat, WriteFile
from ferrule_hookspecs.tools import SandboxDeniedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ferrule_hookspecs.sandbox import Denial, FileEdit, ResolvedPolicy

_Kind = Literal["file", "directory", "symlink", "other"]


class LocalFiles:
    """Satisfies the contract's `FileSystem`."""

    def __init__(self, policy: ResolvedPolicy) -> None:
        """Judge by a policy."""
        self._policy = policy

    def check(self, operation: Literal["read", "write"], path: str) -> Denial | None:
        """Tell what the policy would refuse."""
        return decide(self._policy, operation, path)

    async def stat(self, path: str) -> FileStat | None:
        """Look at a path; None when nothing is there."""
        try:
            facts = os.stat(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        kind: Literal["file", "directory", "other"] = "other"
        if stat.S_ISREG(facts.st_mode):
            kind = "file"
        elif stat.S_ISDIR(facts.st_mode):
            kind = "directory"
        return FileStat(kind, facts.st_size, stat.S_IMODE(facts.st_mode))

    async def read(self, path: str, *, limit: int | None = None) -> bytes:
        """Read a file, at most `limit` bytes."""
        self._allow("read", path)
        with open(path, "rb") as file:
            return file.read(-1 if limit is None else limit)

    async def list(self, path: str) -> Sequence[DirectoryEntry]:
        """List a folder, sorted by name."""
        self._allow("read", path)
        with os.scandir(path) as entries:
            return sorted(DirectoryEntry(entry.name, _kind(entry)) for entry in entries)

    async def apply(self, edits: Sequence[FileEdit]) -> None:
        """Make all edits or none."""
        for edit in edits:
            self._allow("write", edit.path)
        before = {edit.path: _content(edit.path) for edit in edits}
        try:
            for edit in edits:
                _make(edit)
        except OSError:
            for path, content in before.items():
                _restore(path, content)
            raise

    def _allow(self, operation: Literal["read", "write"], path: str) -> None:
        denial = self.check(operation, path)
        if denial is not None:
            raise SandboxDeniedError(denial)


def _kind(entry: os.DirEntry[str]) -> _Kind:
    if entry.is_symlink():
        return "symlink"
    if entry.is_dir():
        return "directory"
    return "file" if entry.is_file() else "other"


def _content(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None


def _make(edit: FileEdit) -> None:
    if not isinstance(edit, WriteFile):
        os.unlink(edit.path)
        return
    os.makedirs(os.path.dirname(edit.path), exist_ok=True)
    with open(edit.path, "wb") as file:
        file.write(edit.data)
    if edit.mode is not None:
        os.chmod(edit.path, edit.mode)


def _restore(path: str, content: bytes | None) -> None:
    if content is not None:
        _make(WriteFile(path, content))
    elif os.path.lexists(path):
        os.unlink(path)
