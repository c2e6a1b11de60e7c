"""The folder that a session shares with its containers, read-only for them: scripts and covers.

It lies below Ferrule's home, and is removed with the session; what a killed session left is removed
by the next one.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

INSIDE: Final = "/run/ferrule"
_PREFIX: Final = "session-"
_LOCK: Final = "lock"
_ANCHOR: Final = "anchor.sh"
_HIDDEN_FOLDER: Final = "hidden-folder"
_BEING_MADE_SECONDS: Final = 60


class ControlFolder:
    """A folder of this session alone."""

    def __init__(self, home: Path, anchor: str) -> None:
        """Make it, and write the script that every container starts with."""
        parent = os.path.join(home, "cache", "container")
        os.makedirs(parent, mode=0o700, exist_ok=True)
        _sweep(parent)
        self.path = tempfile.mkdtemp(prefix=_PREFIX, dir=parent)
        self._lock = os.open(os.path.join(self.path, _LOCK), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        self.write(_ANCHOR, os.fsencode(anchor))
        self.hidden_file = os.path.join(self.path, "hidden-file")
        os.close(os.open(self.hidden_file, os.O_CREAT | os.O_WRONLY, 0))
        self.hidden_folder = os.path.join(self.path, _HIDDEN_FOLDER)
        os.mkdir(self.hidden_folder, 0)

    @property
    def anchor(self) -> str:
        """The script a container starts with, as it is named inside."""
        return f"{INSIDE}/{_ANCHOR}"

    def write(self, name: str, data: bytes) -> str:
        """Write a file; returns its name inside."""
        path = os.path.join(self.path, name)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        with os.fdopen(os.open(path, flags, 0o600), "wb") as file:
            file.write(data)
        return f"{INSIDE}/{name}"

    def remove(self, name: str) -> None:
        """Remove a file."""
        with suppress(FileNotFoundError):
            os.unlink(os.path.join(self.path, name))

    def close(self) -> None:
        """Remove all of it."""
        _remove(self.path)
        os.close(self._lock)


def _sweep(parent: str) -> None:
    """Remove what sessions left that nobody holds any more."""
    for name in os.listdir(parent):
        folder = os.path.join(parent, name)
        with suppress(OSError):
            if time.time() - os.stat(folder).st_mtime < _BEING_MADE_SECONDS:
                continue
            lock = os.open(os.path.join(folder, _LOCK), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _remove(folder)
            finally:
                os.close(lock)


def _remove(folder: str) -> None:
    with suppress(OSError):  # nobody may look into it, not even we
        os.rmdir(os.path.join(folder, _HIDDEN_FOLDER))
    shutil.rmtree(folder, ignore_errors=True)
