"""Rulesets of Landlock, and what each version of it can restrict.

A ruleset names the rights it handles; what it handles is refused everywhere but below the paths it
grants it for. A right granted for a folder holds for all that lies in it: there is no taking away.
"""

from __future__ import annotations

import os
import stat
from typing import Final

from ferrule_confinement.landlock import add_path, create_ruleset, landlock_version

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_REMOVE_DIR, _REMOVE_FILE, _MAKE_CHAR, _MAKE_DIR = 1 << 4, 1 << 5, 1 << 6, 1 << 7
_MAKE_REG, _MAKE_SOCK, _MAKE_FIFO, _MAKE_BLOCK = 1 << 8, 1 << 9, 1 << 10, 1 << 11
_MAKE_SYM, _REFER, TRUNCATE, IOCTL_DEV = 1 << 12, 1 << 13, 1 << 14, 1 << 15

READ: Final = EXECUTE | READ_FILE
WRITE: Final = (WRITE_FILE | TRUNCATE | _REFER | _REMOVE_DIR | _REMOVE_FILE) | (
    _MAKE_DIR | _MAKE_REG | _MAKE_SOCK | _MAKE_FIFO | _MAKE_SYM
)
USE_DEVICE: Final = READ_FILE | WRITE_FILE | TRUNCATE | IOCTL_DEV
"""What opening and using a device takes; some programs open them as if to truncate them."""

_ALL_RIGHTS: Final = (1 << 16) - 1
_FILE_RIGHTS: Final = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
_FIRST_WITH: Final = {2: _REFER, 3: TRUNCATE, 5: IOCTL_DEV}
TRUNCATE_SINCE: Final = 3


class Ruleset:
    """A ruleset in the making; the descriptor is what a process restricts itself with."""

    def __init__(self, *, network: bool, version: int | None = None) -> None:
        """Begin with nothing granted.

        Args:
            network: Whether the network may be used.
            version: Use no more than this version offers; None for all that the kernel knows.

        Raises:
            OSError: The kernel has no Landlock.
        """
        self.version = landlock_version() if version is None else version
        self._handled = _known_rights(self.version)
        self.descriptor = create_ruleset(self._handled, self.version, network=network)

    def grant(self, path: str, rights: int) -> None:
        """Grant rights for a path and all below it; one that is gone by now is passed over."""
        try:
            opened = os.open(path, os.O_PATH | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            return  # not there, or out of reach for us and so for the command
        try:
            mode = os.fstat(opened).st_mode
            if stat.S_ISLNK(mode):
                return  # a link is followed to something that has rights of its own
            if not stat.S_ISDIR(mode):
                rights &= _FILE_RIGHTS
            if rights & self._handled:
                add_path(self.descriptor, opened, rights & self._handled)
        finally:
            os.close(opened)

    def close(self) -> None:
        """Close the descriptor."""
        if self.descriptor != -1:
            os.close(self.descriptor)
            self.descriptor = -1


def _known_rights(version: int) -> int:
    rights = _ALL_RIGHTS
    for first, right in _FIRST_WITH.items():
        if version < first:
            rights &= ~right
    return rights
