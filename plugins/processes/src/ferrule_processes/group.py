"""Ending a program together with all it started."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from anyio.abc import Process

_PR_SET_CHILD_SUBREAPER: Final = 36


def kill_group(process: Process) -> None:
    """Kill a program and what stayed in its group, whose id is taken while anything is in it.

    The program must lead a group of its own: start it with `start_new_session=True`.
    """
    if os.name == "posix":
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    elif process.returncode is None:
        process.kill()


@cache
def adopt_orphans() -> None:
    """Have what leaves its group come back to this process, which ends it with the session."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
