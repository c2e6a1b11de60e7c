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
    commands = [child for process in _children(pid) for child in _children(process)]
    for command in commands:
        with suppress(ProcessLookupError, PermissionError):
            group = os.getpgid(command)
            if group != os.getpgid(pid):
                # The sandbox's first process is in that group, too, and deaf to what it does not
                # handle.
                os.killpg(group, number)
            else:
                _signal_job(command, number)
    return bool(commands)


def _signal_job(shell: int, number: int) -> None:
    """Signal what runs below the two shells of `foreground.py`."""
    jobs = [job for inner in _children(shell) for job in _children(inner)]
    for job in jobs:
        os.killpg(os.getpgid(job), number)
    if not jobs:
        os.kill(shell, number)


def _children(pid: int) -> list[int]:
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return [int(child) for child in file.read().split()]
    except OSError:
        return []
