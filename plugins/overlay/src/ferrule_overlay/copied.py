"""A whole copy of the workspace, for machines on which no overlay can be mounted."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import stat
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from ferrule_hookspecs.errors import FerruleError
from ferrule_overlay.base import Base
from ferrule_overlay.tree import Entry, Tree

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MOST_BYTES: Final = 4 * 1024**3
MOST_ENTRIES: Final = 500_000
_FICLONE: Final = 0x40049409


class CopiedLayer:
    """Satisfies `Layer`: what differs from the copy as it was made has been changed in the view."""

    def __init__(self, path: str, real: Tree, record: str) -> None:
        """Take the folder of the copy, what it is of, and the file that tells how it was made."""
        self.tree = Tree(path)
        self._real = real
        self._record = record
        self._made = Base(self.tree, record)

    def make(self) -> None:
        """Copy the workspace.

        Raises:
            FerruleError: It is too large.
        """
        shutil.rmtree(self.tree.path, ignore_errors=True)
        os.mkdir(self.tree.path)
        size = 0
        found = list(self._real.walk())
        for number, (path, status) in enumerate(found):
            size += status.st_size if stat.S_ISREG(status.st_mode) else 0
            if size > MOST_BYTES or number >= MOST_ENTRIES:
                raise FerruleError(
                    f"{self._real.path} is too large to be copied: more than {MOST_BYTES >> 30} GiB"
                    f" or {MOST_ENTRIES} files; use a machine where overlayfs can be mounted, or"
                    " run without --overlay"
                )
            self._copy(path, status)
        for path, status in reversed(found):
            self._dress(path, status)
        self._made.take()

    def touched(self) -> dict[str, Entry | None]:
        """What the view has at each path that it may have changed; None where it has nothing."""
        found: dict[str, Entry | None] = dict.fromkeys(self._made.everything())
        for path, _ in self.tree.walk():
            if path in found and not self._made.has_drifted(path):
                del found[path]
            else:
                found[path] = self.tree.look(path)
        return found

    def changed(self) -> Iterator[os.stat_result]:
        """The status of everything that the layer has of its own, without looking into it."""
        for path, status in self.tree.walk():
            if self._made.has_drifted(path):
                yield status

    def drop(self, paths: Iterable[str]) -> None:
        """Have the view show the workspace at these paths again."""
        ordered = sorted(paths, key=lambda path: path.count("/"))
        for path in reversed(ordered):
            status = self._real.status(path)
            if status is None or not stat.S_ISDIR(status.st_mode):
                self._remove(path)
        for path in ordered:
            status = self._real.status(path)
            if status is not None:
                self._copy_anew(path, status)
        self._made.refresh(ordered)

    def clear(self) -> None:
        """Have the view show the workspace everywhere."""
        self.make()

    def _copy_anew(self, path: str, status: os.stat_result) -> None:
        with suppress(FileNotFoundError):  # its folder is not in the view: it stays away
            if not os.path.isdir(self._place(path)) or os.path.islink(self._place(path)):
                self._remove(path)
            self._copy(path, status)
            self._dress(path, status)

    def _remove(self, path: str) -> None:
        place = self._place(path)
        with suppress(FileNotFoundError, NotADirectoryError):
            if os.path.isdir(place) and not os.path.islink(place):
                with suppress(OSError):  # something stays in it
                    os.rmdir(place)
            else:
                os.unlink(place)

    def _copy(self, path: str, status: os.stat_result) -> None:
        place = self._place(path)
        if stat.S_ISDIR(status.st_mode):
            with suppress(FileExistsError):
                os.mkdir(place, 0o700)
        elif stat.S_ISLNK(status.st_mode):
            with self._real.folder_of(path) as (folder, name):
                os.symlink(os.readlink(name, dir_fd=folder), place)
        elif stat.S_ISREG(status.st_mode):
            with self._real.folder_of(path) as (folder, name):
                source = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
            with os.fdopen(source, "rb") as reading, open(place, "xb") as writing:
                if not _cloned(reading.fileno(), writing.fileno()):
                    shutil.copyfileobj(reading, writing)

    def _dress(self, path: str, status: os.stat_result) -> None:
        place = self._place(path)
        if not os.path.lexists(place):
            return
        if os.geteuid() == 0:
            os.chown(place, status.st_uid, status.st_gid, follow_symlinks=False)
        if not stat.S_ISLNK(status.st_mode):
            os.chmod(place, stat.S_IMODE(status.st_mode))
            os.utime(place, ns=(status.st_atime_ns, status.st_mtime_ns))

    def _place(self, path: str) -> str:
        return os.path.join(self.tree.path, path)


def _cloned(source: int, target: int) -> bool:
    """Share the content between two files, where the file system can."""
    try:
        fcntl.ioctl(target, _FICLONE, source)
    except OSError as error:
        if error.errno in (errno.EOPNOTSUPP, errno.EXDEV, errno.ENOTTY, errno.EINVAL, errno.EBADF):
            return False
        raise
    return True
