"""What a test leaves behind: threads, child processes, open descriptors."""

from __future__ import annotations

import gc
import os
import threading
import time
from pathlib import Path
from typing import Final

from ferrule_testkit.processes import is_running

_LATE_S: Final = 10.0
_POLL_S: Final = 0.01
_POLLS: Final = round(_LATE_S / _POLL_S)  # not by the clock: what stands still cannot end
_DESCRIPTORS: Final = Path("/proc/self/fd")


class LeakWatch:
    """Notes what is there when it is made; `left` tells what came and stayed.

    Descriptors and child processes are looked at where there is `/proc`.
    """

    def __init__(self) -> None:
        """Look at what is there."""
        self._threads = set(threading.enumerate())
        self._children = _children()
        self._descriptors = _descriptors()

    def left(self) -> list[str]:
        """Tell what is there now and was not; what ends by itself gets a while to do so."""
        return [*self._left_threads(), *self._left_children(), *self._left_descriptors()]

    def _left_threads(self) -> list[str]:
        came = [thread for thread in threading.enumerate() if thread not in self._threads]
        for _ in range(_POLLS):
            came = [thread for thread in came if thread.is_alive()]
            if not came:
                break
            came[0].join(_POLL_S)
        return [f"the thread {thread.name!r}" for thread in came]

    def _left_children(self) -> list[str]:
        came = self._running_children()
        for _ in range(_POLLS):
            if not came:
                break
            time.sleep(_POLL_S)
            came = self._running_children()
        return [f"the process {pid} ({_command_line(pid)})" for pid in sorted(came)]

    def _running_children(self) -> set[int]:
        return {pid for pid in _children() - self._children if is_running(pid)}

    def _left_descriptors(self) -> list[str]:
        """Such as a connection that a server of the test accepts after its client gave it up."""
        came = self._new_descriptors()
        if came:
            gc.collect()  # what only waits to be collected is open no more
            came = self._new_descriptors()
        for _ in range(_POLLS):
            if not came:
                break
            time.sleep(_POLL_S)
            came = self._new_descriptors()
        return [f"the descriptor {number} ({target})" for number, target in sorted(came)]

    def _new_descriptors(self) -> set[tuple[int, str]]:
        return set(_descriptors().items()) - set(self._descriptors.items())


def _children() -> set[int]:
    found: set[int] = set()
    for task in Path("/proc/self/task").glob("*/children"):
        try:
            found.update(map(int, task.read_text().split()))
        except OSError:  # the thread has ended
            continue
    return found


def _descriptors() -> dict[int, str]:
    if not _DESCRIPTORS.exists():
        return {}
    found: dict[int, str] = {}
    for name in os.listdir(_DESCRIPTORS):
        try:
            found[int(name)] = os.readlink(_DESCRIPTORS / name)
        except OSError:  # the one this folder was listed with
            continue
    return found


def _command_line(pid: int) -> str:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return "gone"
    return b" ".join(words).decode("utf-8", "replace").strip()
