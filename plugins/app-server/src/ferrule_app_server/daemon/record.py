"""Which process the daemon is. A process is known by its number and by when it started.

Numbers are used again; the two together are not, so that no stranger is ever taken for the daemon.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, cast

if TYPE_CHECKING:
    from ferrule_app_server.daemon.folder import RunFolder

_POLL_S: Final = 0.02
_STATE_FIELD: Final = 0  # of what follows the name in /proc/PID/stat
_THREADS_FIELD: Final = 17
_START_FIELD: Final = 19
_PROC: Final = Path("/proc")


class Record(NamedTuple):
    """A daemon that was started.

    Attributes:
        pid: Number of its process.
        identity: What tells the process from others of the same number.
        started_at: When it was started, in seconds of Unix time.
        options: What it was started with, to start it again.
    """

    pid: int
    identity: str
    started_at: float
    options: tuple[str, ...]

    @property
    def is_running(self) -> bool:
        """Whether the process is still there."""
        return identity_of(self.pid) == self.identity

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to this process and no other; nothing happens where it has ended."""
        try:
            if not hasattr(os, "pidfd_open"):
                if self.is_running:
                    os.kill(self.pid, number)
                return
            handle = os.pidfd_open(self.pid)
            try:  # the handle was opened first: whoever it names cannot change any more
                if self.is_running:
                    signal.pidfd_send_signal(handle, number)
            finally:
                os.close(handle)
        except ProcessLookupError:
            return

    def wait(self, seconds: float) -> bool:
        """Wait for its end; returns whether it came."""
        until = time.monotonic() + seconds
        while self.is_running:
            if time.monotonic() > until:
                return False
            time.sleep(_POLL_S)
        return True


def own_record(options: tuple[str, ...]) -> Record:
    """Return the record of this process."""
    pid = os.getpid()
    return Record(pid, identity_of(pid) or "", time.time(), options)


def read_record(folder: RunFolder) -> Record | None:
    """Return the daemon that runs; None where there is none any more."""
    try:
        found = cast("object", json.loads(folder.record.read_bytes()))
    except (OSError, ValueError):
        return None
    match found:
        case {
            "pid": int(pid),
            "identity": str(identity),
            "startedAt": int() | float() as started_at,
            "options": list(options),
        } if identity:
            texts = tuple(str(option) for option in cast("list[object]", options))
            record = Record(pid, identity, started_at, texts)
            return record if record.is_running else None
        case _:
            return None


def write_record(folder: RunFolder, record: Record) -> None:
    """Write a record whole or not at all."""
    facts = {
        "pid": record.pid,
        "identity": record.identity,
        "startedAt": record.started_at,
        "options": record.options,
    }
    with tempfile.NamedTemporaryFile("w", dir=folder.path, prefix=".record", delete=False) as file:
        json.dump(facts, file)
    os.replace(file.name, folder.record)


def remove_record(folder: RunFolder, record: Record) -> None:
    """Remove a record unless another daemon has written its own meanwhile."""
    if read_record(folder) == record:
        folder.record.unlink(missing_ok=True)


def identity_of(pid: int) -> str | None:
    """Return what tells a process from others of its number; None where there is none."""
    if not _PROC.joinpath("self/stat").exists():
        return _identity_from_ps(pid)
    try:
        stat = _PROC.joinpath(str(pid), "stat").read_text("ascii", "replace")
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()
    # The first thread may be gone before the last one, which still holds files and locks.
    if fields[_STATE_FIELD] in ("Z", "X") and int(fields[_THREADS_FIELD]) <= 1:
        return None
    try:
        boot = _PROC.joinpath("sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        boot = ""
    return f"{boot}/{fields[_START_FIELD]}"


def _identity_from_ps(pid: int) -> str | None:
    argv = ["/bin/ps", "-o", "stat=,lstart=", "-p", str(pid)]
    told = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=10).stdout
    state, _, started = told.strip().partition(" ")
    return started.strip() if started and not state.startswith("Z") else None
