"""A program that kills what holds the leash of a killed session; `stand_in_watchdog.py` starts it.

The leash is a pipe. It is given the end to read from, which tells for certain when nobody holds the
other one any more; who does, only `/proc` tells. What it kills it has hold of before it looks, so
that it is never another process that has got the number since.

It is run by path, in isolation, and so imports nothing but the standard library.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from contextlib import suppress

_PATIENCE_S = 60.0  # for what the kernel itself cannot end at once
_LONGEST_PAUSE_MS = 500


def main() -> None:
    """Kill the holders until there are none."""
    leash = int(sys.argv[1])
    name = os.readlink(f"/proc/self/fd/{leash}")
    is_free = select.poll()
    is_free.register(leash, 0)  # only the end of its writers
    deadline = time.monotonic() + _PATIENCE_S
    pause = 0
    while not is_free.poll(pause) and time.monotonic() < deadline:
        for pid in filter(str.isdigit, os.listdir("/proc")):
            if _holds(pid, name):
                _kill(int(pid), name)
        pause = min(2 * pause + 1, _LONGEST_PAUSE_MS)


def _kill(pid: int, name: str) -> None:
    try:
        process = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    if _holds(str(pid), name):
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(process, signal.SIGKILL)
    os.close(process)


def _holds(pid: str, name: str) -> bool:
    """Whether a process has the end open that is written to, as the watchdog has not."""
    folder = f"/proc/{pid}/fd"
    try:
        return any(_is_held(f"{folder}/{number}", name) for number in os.listdir(folder))
    except OSError:  # it has ended, or is another user's
        return False


def _is_held(descriptor: str, name: str) -> bool:
    try:
        return os.readlink(descriptor) == name and bool(os.lstat(descriptor).st_mode & 0o200)
    except FileNotFoundError:
        return False


if __name__ == "__main__":
    sys.exit(main())
