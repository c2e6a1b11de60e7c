"""Where the daemon of a home keeps its files: `$FERRULE_HOME/run`, for the user alone."""

from __future__ import annotations

import hashlib
import os
import stat
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from ferrule_hookspecs.errors import FerruleError

if TYPE_CHECKING:
    from collections.abc import Iterator

_LONGEST_SOCKET: Final = 103  # macOS allows 104 bytes with the end mark, Linux 108


class RunFolder(NamedTuple):
    """The files of one daemon. Attributes: the folder they are in."""

    path: Path

    @property
    def socket(self) -> Path:
        """Where it listens: in the folder, or in one with a shorter name.

        Raises:
            FerruleError: The shorter one is somebody else's.
        """
        usual = self.path / "app-server.sock"
        if len(os.fsencode(usual)) <= _LONGEST_SOCKET:
            return usual
        name = hashlib.sha256(os.fsencode(self.path)).hexdigest()[:16]
        return _short_folder() / f"{name}.sock"

    @property
    def url(self) -> str:
        """Where it listens, as an endpoint."""
        return f"unix://{self.socket}"

    @property
    def record(self) -> Path:
        """Which process it is."""
        return self.path / "app-server.json"

    @property
    def log(self) -> Path:
        """What it says."""
        return self.path / "app-server.log"

    def prepare(self) -> None:
        """Make the folder."""
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Be the only one who starts or stops this daemon."""
        import fcntl

        self.prepare()
        lock = os.open(
            self.path / "change.lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
        )
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)


def _short_folder() -> Path:
    folder = Path("/tmp") / f"ferrule-{os.geteuid()}"  # noqa: S108 -- its owner is looked at
    folder.mkdir(mode=0o700, exist_ok=True)
    status = folder.lstat()
    if status.st_uid != os.geteuid() or not stat.S_ISDIR(status.st_mode) or status.st_mode & 0o077:
        raise FerruleError(
            f"{folder} is not a folder of yours alone, and the home's name is too long for a "
            "socket: remove it, or take a home with a shorter name"
        )
    return folder


def run_folder(home: Path) -> RunFolder:
    """Return the folder of a home.

    Raises:
        FerruleError: This system has no unix sockets, so there is no daemon either.
    """
    if os.name != "posix":
        raise FerruleError(
            "a daemon needs unix sockets, which this system does not have: "
            "run `ferrule app-server --listen ws://127.0.0.1:0`"
        )
    return RunFolder(home.absolute() / "run")
