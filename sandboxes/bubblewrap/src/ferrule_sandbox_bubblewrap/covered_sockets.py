"""The sockets that one command's sandbox covers, some of which may vanish while it is set up.

bubblewrap needs something to mount a cover on. Where that vanished in a read-only folder it gives
up, and the command is prepared anew; in a folder that may be written it makes an empty file there,
which would keep the service from coming back, and is removed at once.
"""

from __future__ import annotations

import os
import stat
import time
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


class CoveredSockets:
    """What one command's sandbox covers."""

    def __init__(self, paths: Sequence[str] = ()) -> None:
        """Remember the sockets, and since when they are about to be covered."""
        self._known = {path: _identity(path) for path in paths}
        self._since = time.time() - 1  # clocks of file systems lag behind a little

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self._known)

    def have_vanished(self) -> bool:
        """Whether one of them is not there any more, or another one in its place."""
        return any(known is None or _identity(path) != known for path, known in self._known.items())

    def tidy(self) -> None:
        """Remove the empty files that bubblewrap made where sockets had vanished."""
        for path in self._known:
            with suppress(OSError):
                if self._is_made(os.lstat(path)):
                    os.unlink(path)

    def _is_made(self, facts: os.stat_result) -> bool:
        is_empty_file = stat.S_ISREG(facts.st_mode) and facts.st_size == 0
        is_read_only = not facts.st_mode & 0o333
        is_ours = facts.st_uid == os.geteuid() and facts.st_nlink == 1
        return is_empty_file and is_read_only and is_ours and facts.st_ctime >= self._since


def _identity(path: str) -> tuple[int, int, int] | None:
    try:
        facts = os.lstat(path)
    except OSError:
        return None
    return facts.st_dev, facts.st_ino, facts.st_ctime_ns
