"""What folders hold, remembered for as long as they do not change.

Patterns of unreadable files are worked out for every command anew, so a folder is looked at every
time and read only when it has changed.
"""

from __future__ import annotations

import contextlib
import os
import time
from typing import Final, NamedTuple

_KEPT: Final = 65_536
_SETTLED_NS: Final = 100_000_000  # a folder changed this recently may change again unnoticed


class Listing(NamedTuple):
    """The names in a folder, sorted: those of folders, and of everything else."""

    folders: tuple[str, ...] = ()
    others: tuple[str, ...] = ()


_known: dict[str, tuple[int, Listing]] = {}


def list_folder(folder: str) -> Listing:
    """Read a folder; one that cannot be read is empty. A link to a folder is no folder."""
    try:
        stamp = os.stat(folder).st_mtime_ns
    except OSError:
        return Listing()
    known = _known.get(folder)
    if known is not None and known[0] == stamp:
        return known[1]
    folders: list[str] = []
    others: list[str] = []
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            (folders if entry.is_dir(follow_symlinks=False) else others).append(entry.name)
    listing = Listing(tuple(sorted(folders)), tuple(sorted(others)))
    if time.time_ns() - stamp > _SETTLED_NS:
        if len(_known) >= _KEPT:
            _known.clear()
        _known[folder] = stamp, listing
    return listing
