"""Files as commands see them where an anchor is: in a container, or on another machine.

Whatever is mounted read-only or not at all there refuses what the policy refuses, so nothing needs
to be walked with care here; the policy is asked first, for the better words.
"""

from __future__ import annotations

import errno
import os
from itertools import count
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, TypeVar, TypeVarTuple, cast

from ferrule_hookspecs.evaluator import decide_canonical
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
    from collections.abc import Callable, Sequence

    from ferrule_confinement.anchor import Anchor

_Kind: TypeAlias = Literal["file", "directory", "other"]
_PREFIX: Final = ".ferrule-edit-"
_KINDS: Final[dict[str, Literal["file", "directory", "symlink", "other"]]] = {
    "f": "file",
    "d": "directory",
    "l": "symlink",
    "o": "other",
}
_numbers = count()
T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class FarFiles:
    """Files beyond an anchor as a policy allows them; satisfies `FileSystem`."""

    def __init__(
        self,
        policy: ResolvedPolicy,
        anchor: Callable[[], Anchor],
        judge: Callable[[Literal["read", "write"], str], Denial | None] | None = None,
        place: Callable[[str], str] = os.path.normpath,
    ) -> None:
        """Keep how to get the anchor, which is started when a file is first touched.

        Args:
            policy: The policy.
            anchor: Returns the anchor of the session.
            judge: Says what is refused of a canonical path; by default what the policy says.
            place: Says where a path of the session lies beyond the anchor.
        """
        self._anchor = anchor
        self._place = place
        self._judge = judge or (lambda operation, path: decide_canonical(policy, operation, path))

    def check(self, operation: Literal["read", "write"], path: str) -> Denial | None:
        """Tell what the policy would refuse by the letters of the path alone."""
        return self._judge(operation, self._placed(path))

    async def stat(self, path: str) -> FileStat | None:
        """Look at a path; None when nothing is there."""
        return await _in_thread(self._stat, path)

    async def read(self, path: str, *, limit: int | None = None) -> bytes:
        """Read a file, at most `limit` bytes.

        Raises:
            SandboxDeniedError: The policy refuses.
            OSError: There is no such file, or it is not a regular one.
        """
        return await _in_thread(self._read, path, "" if limit is None else str(limit))

    async def list(self, path: str) -> Sequence[DirectoryEntry]:
        """List a folder, sorted by name.

        Raises:
            SandboxDeniedError: The policy refuses.
            OSError: There is no such folder.
        """
        return await _in_thread(self._list, path)

    async def apply(self, edits: Sequence[FileEdit]) -> None:
        """Make all edits or none: what fails midway is undone before the error is raised.

        Raises:
            SandboxDeniedError: The policy refuses one of them.
            OSError: One of them failed.
        """
        await _in_thread(self._apply, edits)

    def _stat(self, path: str) -> FileStat | None:
        try:
            return _facts(self._anchor(), self._placed(path))
        except (FileNotFoundError, NotADirectoryError):
            return None

    def _read(self, path: str, limit: str) -> bytes:
        place = self._allowed("read", path)
        return self._anchor().ask("read", place, limit)

    def _list(self, path: str) -> list[DirectoryEntry]:
        place = self._allowed("read", path)
        names = os.fsdecode(self._anchor().ask("list", place)).split("\0")[:-1]
        entries = [DirectoryEntry(name[1:], _KINDS.get(name[:1], "other")) for name in names]
        return sorted(entries, key=lambda entry: entry.name)

    def _apply(self, edits: Sequence[FileEdit]) -> None:
        placed: list[tuple[str, FileEdit]] = []
        for edit in edits:
            if isinstance(edit, WriteFile):
                placed.append((self._allowed("write", edit.path), edit))
            else:
                parent, name = os.path.split(self._placed(edit.path))
                self._refuse("write", os.path.join(parent, name))
                folder = os.fsdecode(self._anchor().ask("real", parent))
                self._refuse("write", os.path.join(folder, name))
                placed.append((os.path.join(folder, name), edit))
        _Batch(self._anchor(), placed).apply()

    def _allowed(self, operation: Literal["read", "write"], path: str) -> str:
        """Return where a path really leads, when the policy allows both."""
        named = self._placed(path)
        self._refuse(operation, named)
        place = os.fsdecode(self._anchor().ask("real", named))
        self._refuse(operation, place)
        return place

    def _placed(self, path: str) -> str:
        return self._place(os.path.normpath(path))

    def _refuse(self, operation: Literal["read", "write"], path: str) -> None:
        denial = self._judge(operation, path)
        if denial is not None:
            raise SandboxDeniedError(denial)


class _Batch:
    """Edits whose paths are canonical and allowed: all or none."""

    def __init__(self, anchor: Anchor, edits: Sequence[tuple[str, FileEdit]]) -> None:
        self._anchor = anchor
        self._edits = edits
        self._spares: list[str] = []
        self._undo: list[tuple[str, ...]] = []

    def apply(self) -> None:
        """Stage all, then put all in place; new content is never seen half-written."""
        try:
            staged = [self._stage(path, edit) for path, edit in self._edits]
            for (path, _), spare in zip(self._edits, staged, strict=True):
                self._commit(path, spare)
        except BaseException:
            for step in reversed(self._undo):
                self._attempt(*step)
            raise
        finally:
            for spare in self._spares:
                self._attempt("remove", spare)

    def _stage(self, path: str, edit: FileEdit) -> str | None:
        if not isinstance(edit, WriteFile):
            self._anchor.ask("stat", path)
            return None
        self._make_folders(os.path.dirname(path))
        before = self._mode_before(path)
        spare = self._spare(path)
        self._anchor.write(spare, edit.data)
        mode = edit.mode if edit.mode is not None else before
        if mode is not None:
            self._anchor.ask("mode", spare, f"{mode:o}")
        return spare

    def _commit(self, path: str, spare: str | None) -> None:
        backup = self._spare(path)
        try:
            self._anchor.ask("keep", path, backup)
        except FileNotFoundError:
            if spare is None:
                raise
            self._undo.append(("remove", path))
        else:
            self._undo.append(("move", backup, path))
        if spare is None:
            self._anchor.ask("remove", path)
        else:
            self._anchor.ask("move", spare, path)

    def _make_folders(self, folder: str) -> None:
        missing: list[str] = []
        while folder != "/" and not self._exists(folder):
            missing.append(folder)
            folder = os.path.dirname(folder)
        for path in reversed(missing):
            self._anchor.ask("mkdir", path)
            self._undo.append(("rmdir", path))

    def _mode_before(self, path: str) -> int | None:
        try:
            before = _facts(self._anchor, path)
        except FileNotFoundError:
            return None
        if before.kind != "file":
            raise OSError(errno.EISDIR, "not a regular file", path)
        return before.mode

    def _exists(self, path: str) -> bool:
        try:
            self._anchor.ask("stat", path)
        except FileNotFoundError:
            return False
        return True

    def _spare(self, path: str) -> str:
        name = f"{_PREFIX}{os.getpid()}-{next(_numbers)}"
        spare = os.path.join(os.path.dirname(path), name)
        self._spares.append(spare)
        return spare

    def _attempt(self, *step: str) -> None:
        """Do a step of tidying up; what cannot be tidied is not worth a second error."""
        try:
            self._anchor.ask(*step)
        except OSError:
            return


def _facts(anchor: Anchor, path: str) -> FileStat:
    words = anchor.ask("stat", path).decode("ascii", "replace").split()
    try:
        kind, size, mode = words
        return FileStat(cast("_Kind", kind), int(size), int(mode, 8))
    except ValueError:
        raise OSError(errno.EIO, "cannot be looked at", path) from None


async def _in_thread(function: Callable[[*Ts], T], *arguments: *Ts) -> T:
    """Wait in a thread; what was begun is finished, be it waited for or not."""
    import asyncio

    return await asyncio.shield(asyncio.to_thread(function, *arguments))
