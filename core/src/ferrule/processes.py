"""The one owner of every child of the kernel.

Each command is the leader of its own session. The kernel is a subreaper, so that what a command
leaves behind comes back to the kernel and ends with it at the latest; a watchdog ends it where the
kernel itself was killed.
"""

from __future__ import annotations

import errno
import time
from typing import TYPE_CHECKING, Final
from weakref import WeakSet

import anyio

from ferrule.child import OwnedProcess, Streams, start
from ferrule.lineage import (
    ProcessFacts,
    become_subreaper,
    has_children,
    kill_tree,
    process_table,
    reap,
    reap_strays,
    strays,
)
from ferrule.watchdog import Watchdog

if TYPE_CHECKING:
    from ferrule_hookspecs.sandbox import Launch

__all__ = ["OwnedProcess", "ProcessOwner"]

_REAP_SECONDS: Final = 5.0
_POLL_SECONDS: Final = 0.005
_LOOK_SECONDS: Final = 0.5
_owners: WeakSet[ProcessOwner] = WeakSet()


class ProcessOwner:
    """Starts commands and answers for their end."""

    def __init__(self) -> None:
        """Start nothing yet."""
        self._running: dict[int, OwnedProcess] = {}
        self._sessions: set[int] = set()
        self._open: WeakSet[OwnedProcess] = WeakSet()  # what nobody holds, nobody reads
        self._killed_strays: set[int] = set()
        self._watchdog = Watchdog()
        self._is_closed = False
        self._next_look = 0.0
        _owners.add(self)

    async def spawn(
        self,
        launch: Launch,
        *,
        tty: bool = False,
        open_stdin: bool = False,
        size: tuple[int, int] = (24, 80),
        separate_stderr: bool = False,
    ) -> OwnedProcess:
        """Start a command.

        Nothing is awaited, so that a cancellation finds it either owned or not started.

        Raises:
            OSError: It could not be started; `launch.cleanup` was called.
        """
        try:
            process = self._start(launch, Streams(tty, open_stdin, size, separate_stderr))
        except BaseException:
            if launch.cleanup is not None:
                launch.cleanup()
            raise
        self._running[process.pid] = process
        self._sessions.add(process.pid)
        self._open.add(process)
        self._watchdog.add(process.pid)
        try:
            process.watch(self._forget)
        except OSError:  # no descriptor left to watch it with
            process.kill()
            process.finish()
            self._forget(process)
            process.close_output()
            raise
        if launch.started is not None:
            launch.started()
        return process

    def _start(self, launch: Launch, streams: Streams) -> OwnedProcess:
        if self._is_closed:
            raise OSError(errno.ECANCELED, "the session has ended, nothing can be started any more")
        self._become_heir()
        self._watchdog.start()
        return start(launch, streams)

    def alive(self) -> list[int]:
        """Return the commands that run and what ended commands left behind."""
        return [*self._running, *(facts.pid for facts in self._strays(process_table()))]

    async def aclose(self) -> None:
        """Kill everything, descendants included, and reap it."""
        self._is_closed = True
        with anyio.CancelScope(shield=True):
            deadline = time.monotonic() + _REAP_SECONDS
            # Polling, because strays tell nobody of their end.
            while self._kill_round() and time.monotonic() < deadline:  # noqa: ASYNC110
                await anyio.sleep(_POLL_SECONDS)
        self._dispose()

    def kill_all(self) -> None:
        """Do what `aclose` does, where no event loop runs any more."""
        self._is_closed = True
        deadline = time.monotonic() + _REAP_SECONDS
        while self._kill_round() and time.monotonic() < deadline:
            time.sleep(_POLL_SECONDS)
            for process in list(self._running.values()):
                if process.has_ended():
                    process.finish()
        self._dispose()

    def known_pids(self) -> set[int]:
        """Return the children that are waited for: commands that run, and the watchdog."""
        watchdog = self._watchdog.pid
        return {*self._running} if watchdog is None else {*self._running, watchdog}

    def _become_heir(self) -> None:
        """Have what commands leave behind come back to this process."""
        become_subreaper()

    def _strays(self, table: list[ProcessFacts]) -> list[ProcessFacts]:
        """Return what came back from our commands.

        What has left its command's session cannot be told apart from what another owner's commands
        left behind, so that it is ours only while there is no other owner.
        """
        is_only = all(owner is self for owner in _owners)
        return [
            facts
            for facts in strays(table, _all_known())
            if is_only or facts.session in self._sessions
        ]

    def _kill_round(self) -> bool:
        """Kill what is left; tells whether anything was."""
        self._reap_strays()
        if not self._running:
            self._watchdog.stop()  # it would count as a child that is left
            if not has_children():
                return False
        table = process_table()
        left_behind = self._strays(table)
        self._killed_strays.update(facts.pid for facts in left_behind)
        for pid in (*self._running, *(facts.pid for facts in left_behind)):
            kill_tree(pid, table)
        self._killed_strays = {pid for pid in self._killed_strays if not reap(pid)}
        return bool(self._running or self._killed_strays)

    def _dispose(self) -> None:
        for process in self._open:
            process.close_output()
        self._watchdog.stop()
        _owners.discard(self)

    def _forget(self, process: OwnedProcess) -> None:
        self._running.pop(process.pid, None)
        self._watchdog.leader_ended(process.pid)
        now = time.monotonic()
        if now >= self._next_look:  # looking costs a read for each that has not been taken yet
            self._next_look = now + _LOOK_SECONDS
            self._reap_strays()

    def _reap_strays(self) -> None:
        reap_strays(_all_known())


def _all_known() -> set[int]:
    return {pid for owner in _owners for pid in owner.known_pids()}
