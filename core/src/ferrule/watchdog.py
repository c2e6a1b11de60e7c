"""Ends the commands of a kernel that was itself killed and could not do so any more.

A tiny shell that reads, on a pipe only the kernel holds, which process groups there are; when the
kernel is gone the pipe ends, and it kills them. Commands need no code of ours between fork and
exec for this, and what they started in their group ends with them, which a parent-death signal
would not achieve.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
from typing import Final

_SOON_SECONDS: Final = 0.25
_SCRIPT: Final = """
groups=' '
while read -r change group; do
  case $change in
    +) groups="$groups$group " ;;
    -) groups="${groups%% $group *} ${groups#* $group }" ;;
  esac
done
for group in $groups; do kill -KILL "-$group"; done 2>/dev/null
"""


class Watchdog:
    """Knows the process groups of one owner; started with the first of them."""

    def __init__(self) -> None:
        self._shell: subprocess.Popen[bytes] | None = None
        self._ended: set[int] = set()
        self._untold: list[str] = []
        self._timer: asyncio.TimerHandle | None = None

    @property
    def pid(self) -> int | None:
        """Process id of the shell, once there is one."""
        return None if self._shell is None else self._shell.pid

    def start(self) -> None:
        """Start the shell, if it does not run yet."""
        if self._shell is None:
            self._shell = subprocess.Popen(
                ("/bin/sh", "-c", _SCRIPT),
                env={},
                cwd="/",
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                bufsize=0,
            )

    def add(self, group: int) -> None:
        """Watch a process group."""
        self._untold.append(f"+ {group}\n")
        self._tell()

    def leader_ended(self, group: int) -> None:
        """Note that the leader is gone; its group is watched while it has other members."""
        self._ended.add(group)
        empty = [candidate for candidate in self._ended if not _exists(candidate)]
        self._ended.difference_update(empty)
        self._untold.extend(f"- {candidate}\n" for candidate in empty)
        # Soon, but rather together with the next command: waking the shell costs 0.2 ms.
        if self._timer is None:
            with contextlib.suppress(RuntimeError):  # without a loop we are about to stop anyway
                self._timer = asyncio.get_running_loop().call_later(_SOON_SECONDS, self._tell)

    def stop(self) -> None:
        """End the shell; what is still listed is killed."""
        self._tell()
        if self._shell is None:
            return
        if self._shell.stdin is not None:
            self._shell.stdin.close()
        self._shell.wait()
        self._shell = None

    def _tell(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        lines, self._untold = "".join(self._untold), []
        if lines and self._shell is not None and self._shell.stdin is not None:
            with contextlib.suppress(BrokenPipeError):  # somebody killed it; we live and clean up
                self._shell.stdin.write(lines.encode())


def _exists(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
