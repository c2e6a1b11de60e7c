"""Makes several file edits or none. Called by `files.py`.

New content is staged beside its target and renamed in; what it replaces is kept under a second
name until the batch is complete. A process that is killed midway leaves every file either old or
new, and at worst files named `.ferrule-edit-PID-N`, which a later batch in the same folder removes.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import time
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Final

from ferrule.folder_walk import open_folder
from ferrule_hookspecs.sandbox import FileEdit, WriteFile

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

_PREFIX: Final = ".ferrule-edit-"
_STALE_SECONDS: Final = 60.0
_numbers = count()
_swept: set[str] = set()


@dataclass(slots=True)
class _Step:
    """One edit: where it happens and which spare names it holds."""

    folder: str
    name: str
    edit: FileEdit
    staged: str | None = None
    backup: str | None = None
    is_done: bool = False


class FileBatch:
    """Edits whose paths are canonical and allowed."""

    def __init__(self, edits: Sequence[tuple[str, FileEdit]], root: str = "") -> None:
        """Take the edits with their canonical paths, and where `/` of a view lies."""
        self._root = root
        self._steps = [_Step(*os.path.split(path), edit) for path, edit in edits]
        self._created: list[str] = []

    def apply(self) -> None:
        """Make all edits or none.

        Raises:
            OSError: One failed; the others were undone.
        """
        try:
            for step in self._steps:
                if isinstance(step.edit, WriteFile):
                    with _named(step):
                        self._stage(step, step.edit)
            for step in self._steps:
                with _named(step):
                    self._commit(step)
        except BaseException:
            self._undo()
            raise
        for step in self._steps:
            self._discard(step, step.backup)

    def _stage(self, step: _Step, edit: WriteFile) -> None:
        with self._opened(step.folder, self._created) as folder:
            _sweep(self._root + step.folder)
            before = _stat(step.name, folder)
            if before is not None and not stat.S_ISREG(before.st_mode):
                raise OSError(errno.EISDIR, "not a regular file")
            spare = _spare_name()
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            descriptor = os.open(spare, flags, 0o666, dir_fd=folder)
            step.staged = spare
            with os.fdopen(descriptor, "wb", buffering=0) as file:
                _write_all(descriptor, edit.data)
                _dress(file.fileno(), edit.mode, before)

    def _commit(self, step: _Step) -> None:
        with self._opened(step.folder) as folder:
            if step.staged is None:
                if stat.S_ISDIR(os.lstat(step.name, dir_fd=folder).st_mode):
                    raise OSError(errno.EISDIR, "is a folder")
                step.backup = _spare_name()
                _rename(step.name, step.backup, folder)
            else:
                if _stat(step.name, folder) is not None:
                    step.backup = _keep(step.name, folder)
                _rename(step.staged, step.name, folder)
                step.staged = None
            step.is_done = True

    def _undo(self) -> None:
        for step in reversed(self._steps):
            with contextlib.suppress(OSError), self._opened(step.folder) as folder:
                if step.is_done and step.backup is not None:
                    _rename(step.backup, step.name, folder)
                elif step.is_done:
                    os.unlink(step.name, dir_fd=folder)
            self._discard(step, step.staged)
            self._discard(step, step.backup)
        for path in reversed(self._created):
            with contextlib.suppress(OSError):
                os.rmdir(self._root + path)

    def _discard(self, step: _Step, name: str | None) -> None:
        if name is not None:
            with contextlib.suppress(OSError), self._opened(step.folder) as folder:
                os.unlink(name, dir_fd=folder)

    @contextmanager
    def _opened(self, path: str, created: list[str] | None = None) -> Generator[int]:
        folder = open_folder(path, created, self._root)
        try:
            yield folder
        finally:
            os.close(folder)


@contextmanager
def _named(step: _Step) -> Generator[None]:
    """Have errors name the file that was to be edited, not a spare name beside it."""
    try:
        yield
    except OSError as error:
        place = os.path.join(step.folder, step.name)
        raise OSError(error.errno, error.strerror, place) from error


def _spare_name() -> str:
    return f"{_PREFIX}{os.getpid()}-{next(_numbers)}"


def _stat(name: str, folder: int) -> os.stat_result | None:
    try:
        return os.lstat(name, dir_fd=folder)
    except FileNotFoundError:
        return None


def _rename(source: str, target: str, folder: int) -> None:
    os.rename(source, target, src_dir_fd=folder, dst_dir_fd=folder)


def _write_all(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _dress(descriptor: int, mode: int | None, before: os.stat_result | None) -> None:
    """Give a staged file the owner and the permissions of what it replaces."""
    if before is not None:
        if (before.st_uid, before.st_gid) != (os.geteuid(), os.getegid()):
            with contextlib.suppress(PermissionError):  # only root may give files away
                os.fchown(descriptor, before.st_uid, before.st_gid)
        mode = stat.S_IMODE(before.st_mode) if mode is None else mode
    if mode is not None:
        os.fchmod(descriptor, mode)


def _keep(name: str, folder: int) -> str:
    """Give a file a second name; copy it where the system refuses links."""
    spare = _spare_name()
    try:
        os.link(name, spare, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.EMLINK, errno.ENOTSUP, errno.EXDEV):
            raise
        source = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(source, "rb") as file:
            copy = os.open(spare, flags, 0o600, dir_fd=folder)
            with os.fdopen(copy, "wb"):
                _write_all(copy, file.read())
                _dress(copy, None, os.fstat(source))
    return spare


def _sweep(path: str) -> None:
    """Remove what a killed process left in a folder; looked for once per folder."""
    if path in _swept:
        return
    _swept.add(path)
    for name in os.listdir(path):
        if name.startswith(_PREFIX) and not _is_alive(name):
            with contextlib.suppress(OSError):
                spare = os.path.join(path, name)
                if time.time() - os.lstat(spare).st_ctime > _STALE_SECONDS:
                    os.unlink(spare)


def _is_alive(spare: str) -> bool:
    pid = spare.removeprefix(_PREFIX).partition("-")[0]
    if not pid.isdecimal():
        return True
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
