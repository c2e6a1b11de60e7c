"""The owner of the children of a kernel that is a guest in somebody else's process.

There, other children are none of ours, and we must not take their exit status. So nothing is made
to come back to this process; every command is given a mark, and what it leaves behind is found by
that. `embedding.py` is the only caller.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from ferrule.lineage import kill_tree, process_table
from ferrule.processes import ProcessOwner

if TYPE_CHECKING:
    from ferrule.child import OwnedProcess, Streams
    from ferrule.lineage import ProcessFacts
    from ferrule_hookspecs.sandbox import Launch

_MARK: Final = "FERRULE_OWNER"


class GuestOwner(ProcessOwner):
    """Starts commands and answers for their end, and for nothing else."""

    def __init__(self) -> None:
        """Start nothing yet."""
        super().__init__()
        self._mark = uuid4().hex

    def _start(self, launch: Launch, streams: Streams) -> OwnedProcess:
        environ = {**launch.env, _MARK: self._mark}
        return super()._start(launch._replace(env=environ), streams)

    def _become_heir(self) -> None:
        """What commands leave behind goes to whom it always goes."""

    def _reap_strays(self) -> None:
        """None come back."""

    def _strays(self, table: list[ProcessFacts]) -> list[ProcessFacts]:
        known = {os.getpid(), *self.known_pids()}
        mark = f"{_MARK}={self._mark}".encode()
        return [
            facts
            for facts in table
            if not facts.is_zombie and facts.pid not in known and mark in _environment(facts.pid)
        ]

    def _kill_round(self) -> bool:
        if not self._sessions:
            return False
        table = process_table()
        left_behind = [facts.pid for facts in self._strays(table)]
        for pid in (*self._running, *left_behind):
            kill_tree(pid, table)
        return bool(self._running or left_behind)


def _environment(pid: int) -> list[bytes]:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return file.read().split(b"\0")
    except OSError:  # it has ended, or belongs to somebody else
        return []
