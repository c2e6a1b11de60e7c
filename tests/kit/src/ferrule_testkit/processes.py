"""Finding processes that a program under test has left behind."""

from __future__ import annotations

import os
from pathlib import Path


def is_running(pid: int) -> bool:
    """Whether a process lives; one that only waits to be looked after by its parent does not."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return text.rpartition(")")[2].split()[0] not in "ZX"


def survivors(marker: str) -> dict[int, str]:
    """Find living processes whose environment contains a text; their command lines by id.

    The caller itself is left out. Needs `/proc`, and says so where there is none.
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
        except OSError:  # it ended while we looked, or belongs to somebody else
            continue
        found[int(folder.name)] = b" ".join(words).decode("utf-8", "replace").strip()
    return found
