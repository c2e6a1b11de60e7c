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
            monitors = os.getpgid(pid)
            # The group of the command hears it, as it would from a terminal. Where that is a group
            # of its own below the shells that made it one, those are passed over.
            groups = {os.getpgid(process) for process in (command, *_below(command))}
            for group in groups - {monitors}:
                os.killpg(group, number)
            if groups == {monitors}:
                os.kill(command, number)
    return bool(commands)


def _below(pid: int) -> list[int]:
    return [found for child in _children(pid) for found in (child, *_below(child))]


def _children(pid: int) -> list[int]:
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return [int(child) for child in file.read().split()]
    except OSError:
        return []
