"""The upper layer of an overlay mount, read and mended while it is not mounted.

The kernel stores what a view changed as files of the same name, what it removed as character
devices 0/0, and a folder that hides the one below it as a folder with the attribute `opaque`.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from ferrule_overlay.renaming import exchange
from ferrule_overlay.tree import Entry, Tree

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ferrule_overlay.base import Base

_OPAQUE: Final = "user.overlay.opaque"
_SPARE: Final = ".ferrule-whiteout"


class UpperLayer:
    """Satisfies `Layer`."""

    def __init__(self, path: str, real: Tree, base: Base) -> None:
        """Take the folder of the layer, and what lies below it."""
        self.tree = Tree(path)
        self._real = real
        self._base = base

    def touched(self) -> dict[str, Entry | None]:
        """What the view has at each path that it may have changed; None where it has nothing.

        What came to the workspace after the view was made is not hidden by it, and a folder that
        is only there for what lies in it is no change.
        """
        found: dict[str, Entry | None] = {}
        pending = [""]
        while pending:
            folder = pending.pop()
            for path in self._children(folder):
                entry, known = self._entry(path), self._base.get(path)
                if entry is None and known is None:
                    continue
                if entry is None or not entry.is_folder:
                    found[path] = entry
                    found.update(dict.fromkeys(self._base.below(path)))
                    continue
                pending.append(path)
                if known is None or (known.kind, known.mode) != ("directory", entry.mode):
                    found[path] = entry
                if self._is_opaque(path):
                    found.update(dict.fromkeys(self._hidden(path)))
        return found

    def changed(self) -> Iterator[os.stat_result]:
        """The status of everything that the layer has of its own, without looking into it."""
        for _, status in self.tree.walk():
            yield status

    def drop(self, paths: Iterable[str]) -> None:
        """Have the view show the workspace at these paths again."""
        for path in sorted(paths, key=lambda path: path.count("/"), reverse=True):
            if self._reveal_above(path):
                self._drop(path)

    def clear(self) -> None:
        """Have the view show the workspace everywhere."""
        shutil.rmtree(self.tree.path)
        os.mkdir(self.tree.path)
        with suppress(PermissionError):  # what only root can give away is a user's own otherwise
            shutil.copystat(self._real.path, self.tree.path)

    def _children(self, folder: str) -> Iterator[str]:
        for name in self.tree.names(folder):
            yield f"{folder}/{name}" if folder else name

    def _entry(self, path: str) -> Entry | None:
        """What the layer has; None for a removal as well as for nothing."""
        status = self.tree.status(path)
        return None if status is None or _is_whiteout(status) else self.tree.look(path)

    def _hidden(self, folder: str) -> Iterator[str]:
        """What an opaque folder hides that it has nothing of its own for."""
        for path in self._base.below(folder):
            if self.tree.status(path) is None:
                yield path

    def _is_opaque(self, folder: str) -> bool:
        try:
            value = os.getxattr(self._place(folder), _OPAQUE, follow_symlinks=False)
        except OSError as error:
            if error.errno in (errno.ENODATA, errno.ENOTSUP, errno.ENOENT):
                return False
            raise
        return value == b"y"

    def _reveal_above(self, path: str) -> bool:
        """Have removed or opaque folders above a path hide name by name what they hide.

        Returns:
            Whether the layer may then have something at the path.
        """
        parts = path.split("/")
        for depth in range(1, len(parts)):
            folder = "/".join(parts[:depth])
            status = self.tree.status(folder)
            if status is None:
                return False
            if _is_whiteout(status):
                if self._real.status(path) is None:
                    return False
                self._turn_into_folder(folder)
            elif not stat.S_ISDIR(status.st_mode):
                return False
            elif self._is_opaque(folder):
                self._make_transparent(folder)
        return True

    def _make_transparent(self, folder: str) -> None:
        """Have a folder that hides everything below it hide the same name by name."""
        self._hide_names(folder, folder)
        for path in self._children(folder):
            status = self.tree.status(path)
            if status is not None and stat.S_ISDIR(status.st_mode):
                os.setxattr(self._place(path), _OPAQUE, b"y", follow_symlinks=False)
        os.removexattr(self._place(folder), _OPAQUE)

    def _hide_names(self, folder: str, place: str) -> None:
        """Put a removal in `place` for everything that `folder` had and has no file for."""
        for name in self._real.names(folder):
            path, target = f"{folder}/{name}", f"{place}/{name}"
            if self._base.get(path) is not None and self.tree.status(target) is None:
                os.mknod(self._place(target), stat.S_IFCHR)

    def _turn_into_folder(self, folder: str) -> None:
        status = self._real.status(folder)
        parent = os.path.dirname(folder)
        spare = f"{parent}/{_SPARE}" if parent else _SPARE
        shutil.rmtree(self._place(spare), ignore_errors=True)
        os.mkdir(self._place(spare))
        self._hide_names(folder, spare)
        if status is not None:
            os.chmod(self._place(spare), stat.S_IMODE(status.st_mode))
            if os.geteuid() == 0:
                os.chown(self._place(spare), status.st_uid, status.st_gid)
        with self.tree.folder_of(folder) as (opened, name):
            exchange(opened, _SPARE, name)
            os.unlink(_SPARE, dir_fd=opened)

    def _drop(self, path: str) -> None:
        status = self.tree.status(path)
        if status is None:
            return
        place = self._place(path)
        if not stat.S_ISDIR(status.st_mode):
            os.unlink(place)
            return
        if self._is_opaque(path):
            self._make_transparent(path)
        try:
            os.rmdir(place)
        except OSError as error:
            if error.errno != errno.ENOTEMPTY:
                raise
            real = self._real.status(path)
            if real is not None and stat.S_ISDIR(real.st_mode):
                os.chmod(place, stat.S_IMODE(real.st_mode))

    def _place(self, path: str) -> str:
        return os.path.join(self.tree.path, path)


def _is_whiteout(status: os.stat_result) -> bool:
    return stat.S_ISCHR(status.st_mode) and status.st_rdev == 0
