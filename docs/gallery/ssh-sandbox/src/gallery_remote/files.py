"""What stands for the files of the other machine: tools of Ferrule cannot reach them.

Failing here, in words, is what keeps a tool from reading or changing the files of this machine and
taking them for those of the other one.
"""

import errno
from collections.abc import Sequence
from typing import Literal, NoReturn

from ferrule_hookspecs.sandbox import Denial, DirectoryEntry, FileEdit, FileStat


class NoFiles:
    """Refuses every operation; commands can do them all."""

    def __init__(self, host: str) -> None:
        self._host = host

    def check(self, operation: Literal["read", "write"], path: str) -> Denial | None:
        """No policy forbids it; it just cannot be done."""

    async def stat(self, path: str) -> FileStat | None:
        """Refuse."""
        self._refuse(path)

    async def read(self, path: str, *, limit: int | None = None) -> bytes:
        """Refuse."""
        self._refuse(path)

    async def list(self, path: str) -> Sequence[DirectoryEntry]:
        """Refuse."""
        self._refuse(path)

    async def apply(self, edits: Sequence[FileEdit]) -> None:
        """Refuse."""
        self._refuse(edits[0].path if edits else "")

    def _refuse(self, path: str) -> NoReturn:
        text = f"it is on {self._host}, where files are reached by commands only"
        raise OSError(errno.EOPNOTSUPP, text, path)
