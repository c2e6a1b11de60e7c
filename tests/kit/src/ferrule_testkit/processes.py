"""Finding processes that a program under test has left behind."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Final

# Of the process flags in the kernel's sched.h.
_PF_EXITING: Final = 0x4
_PF_SIGNALED: Final = 0x400


def is_running(pid: int) -> bool:
    """Whether a process lives; one that only waits to be looked after by its parent does not."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return text.rpartition(")")[2].split()[0] not in "ZX"


def survivors(marker: str) -> dict[int, str]:
    """Find living processes whose environment contains a text; their command lines by id.

    The caller itself is left out, and so is what was killed and has not been scheduled since.
    Needs `/proc`, and says so where there is none.
    """
    processes = Path("/proc")
    if not (processes / "self" / "environ").exists():
        raise NotImplementedError("finding processes by their environment needs /proc")
    found: dict[int, str] = {}
    for folder in processes.iterdir():
        if not folder.name.isdigit() or int(folder.name) == os.getpid():
            continue
        try:
            if marker.encode() not in (folder / "environ").read_bytes():
                continue
            words = (folder / "cmdline").read_bytes().split(b"\0")
            if _is_being_killed(folder):
                continue
        except OSError:  # it ended while we looked, or belongs to somebody else
            continue
        found[int(folder.name)] = b" ".join(words).decode("utf-8", "replace").strip()
    return found


def _is_being_killed(folder: Path) -> bool:
    """Whether SIGKILL waits for a process or ends it just now: proc_pid_status(5), stat(5)."""
    for line in (folder / "status").read_text().splitlines():
        name, _, value = line.partition(":")
        if name in ("SigPnd", "ShdPnd") and int(value, 16) >> (signal.SIGKILL - 1) & 1:
            return True
    flags = int((folder / "stat").read_text().rpartition(")")[2].split()[6])
    return bool(flags & (_PF_EXITING | _PF_SIGNALED))
