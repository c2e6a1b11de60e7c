"""Where the daemon of a home keeps its files: `$FERRULE_HOME/run`, for the user alone."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ferrule_hookspecs.errors import FerruleError

if TYPE_CHECKING:
    from collections.abc import Iterator


class RunFolder(NamedTuple):
    """The files of one daemon. Attributes: the folder they are in."""

    path: Path

    @property
    def socket(self) -> Path:
        """Where it listens."""
        return self.path / "app-server.sock"

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
