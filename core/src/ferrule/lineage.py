"""Who descends from whom on this machine, read from `/proc`; used to end what a command started."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections import defaultdict
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

_PR_SET_CHILD_SUBREAPER: Final = 36
_PATIENCE_SECONDS: Final = 1.0
_ended_since: dict[int, float] = {}


class ProcessFacts(NamedTuple):
    """One line of the process table."""

    pid: int
    parent: int
    session: int
    is_zombie: bool


def process_table() -> list[ProcessFacts]:
    """Read the process table; empty where there is no `/proc`."""
    try:
        names = os.listdir("/proc")
    except OSError:
        return []
    return [facts for name in names if name.isdigit() and (facts := _facts(int(name)))]


def _facts(pid: int) -> ProcessFacts | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            text = file.read()
    except OSError:
        return None
    # The command's name stands in parentheses and may itself hold spaces and parentheses.
    state, parent, _group, session = text[text.rindex(b")") + 2 :].split(maxsplit=4)[:4]
    return ProcessFacts(pid, int(parent), int(session), state in (b"Z", b"X"))


def _children_table() -> list[ProcessFacts]:
    """Read the entries of this process's own children; the whole table where that is not told."""
    pids: list[bytes] = []
    try:
        for task in os.listdir("/proc/self/task"):
            with open(f"/proc/self/task/{task}/children", "rb") as file:
                pids += file.read().split()
    except OSError:
        return process_table()
    return [facts for pid in pids if (facts := _facts(int(pid)))]


def descendants(table: Iterable[ProcessFacts], ancestor: int) -> list[int]:
    """Return every living descendant of a process."""
    children: defaultdict[int, list[int]] = defaultdict(list)
    for facts in table:
        if not facts.is_zombie:
            children[facts.parent].append(facts.pid)
    found: list[int] = []
    queue = list(children[ancestor])
    while queue:
        pid = queue.pop()
        found.append(pid)
        queue.extend(children[pid])
    return found


def kill_tree(pid: int, table: list[ProcessFacts]) -> None:
    """Kill a process, its group and its descendants, those in sessions of their own included."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
    for victim in (pid, *descendants(table, pid)):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(victim, signal.SIGKILL)


@cache
def become_subreaper() -> None:
    """Have orphaned descendants come back to this process rather than to `init`."""
    if sys.platform == "linux":
        import ctypes  # 1.5 ms that a session without commands does not need

        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def strays(table: Iterable[ProcessFacts], known: Collection[int]) -> list[ProcessFacts]:
    """Return the living children that came back to us.

    They are those that nobody here started and that live in sessions which are not ours.
    """
    ours, session = os.getpid(), os.getsid(0)
    return [
        facts
        for facts in table
        if facts.parent == ours
        and facts.session != session
        and facts.pid not in known
        and not facts.is_zombie
    ]


def has_children() -> bool:
    """Tell whether this process has any child, which costs a microsecond."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def reap_strays(known: Collection[int]) -> None:
    """Take the exit status of strays that ended a while ago.

    Whoever started a child waits for it and takes its status at once; a stray's stays.
    """
    session, now = os.getsid(0), time.monotonic()
    try:
        # Nearly always there is nothing, and this tells so in a microsecond.
        ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        # A zombie of somebody else in our session may stand before all strays, for good.
        if ended is None or ended.si_pid in known:
            return
    except ChildProcessError:
        return
    zombies = {
        facts.pid
        for facts in _children_table()
        if facts.is_zombie
        and facts.parent == os.getpid()
        and facts.session != session
        and facts.pid not in known
    }
    for pid in _ended_since.keys() - zombies:
        del _ended_since[pid]
    for pid in zombies:
        if now - _ended_since.setdefault(pid, now) >= _PATIENCE_SECONDS:
            reap(pid)


def reap(pid: int) -> bool:
    """Take the exit status of a child, if it has ended; tells whether it is gone."""
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return True
