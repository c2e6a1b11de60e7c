"""Delivers signals to a command inside its sandbox.

The process the kernel knows is bubblewrap's monitor; below it is the sandbox's first process, and
below that the command. A signal to the monitor would end the sandbox without the command's ever
hearing of it.
"""

from __future__ import annotations

import os
from contextlib import suppress


def forward_signal(pid: int, number: int) -> bool:
    """Send a signal to the command below a monitor; tells whether there was one."""
    first = _children(pid)
    commands = [child for process in first for child in _children(process)]
    for command in commands:
        with suppress(ProcessLookupError, PermissionError):
            group = os.getpgid(command)
            # In a session of its own the whole group hears it, as it would from a terminal. The
            # sandbox's first process is in that group too, and deaf to signals it does not handle.
            if group != os.getpgid(pid):
                os.killpg(group, number)
            else:
                os.kill(command, number)
    return bool(commands)


def _children(pid: int) -> list[int]:
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return [int(child) for child in file.read().split()]
    except OSError:
        return []
