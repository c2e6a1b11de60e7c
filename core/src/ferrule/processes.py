"""The one owner of every child of the kernel.

Each command is the leader of its own session. The kernel is a subreaper, so that what a command
leaves behind comes back to the kernel and ends with it at the latest.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import errno
import fcntl
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Final
from weakref import WeakSet

import anyio
import anyio.lowlevel
from ferrule_hookspecs.sandbox import Launch

from ferrule.lineage import ProcessFacts, descendants, process_table
from ferrule.terminal import adopting_argv, open_terminal

_READ_SIZE: Final = 256 * 1024
_PIPE_SIZE: Final = 1024 * 1024
_DRAIN_SECONDS: Final = 0.1
_REAP_SECONDS: Final = 5.0
_POLL_SECONDS: Final = 0.005
_PR_SET_CHILD_SUBREAPER: Final = 36
_F_SETPIPE_SZ: Final = 1031
_owners: WeakSet[ProcessOwner] = WeakSet()


class OwnedProcess:
    """A running command; satisfies `ferrule_hookspecs.tools.Process`."""

    def __init__(
        self, child: subprocess.Popen[bytes], launch: Launch, output: int, stdin: int | None
    ) -> None:
        """Take over the descriptors."""
        self.pid = child.pid
        self._child = child
        self._launch = launch
        self._output: int | None = output
        self._input = stdin
        self._ended = anyio.Event()
        self._code: int | None = None
        self._waiter: asyncio.Future[None] | None = None

    async def read(self) -> bytes:
        """Await more output, stdout and stderr in one ordered stream; empty at its end.

        A background process that keeps the output open does not prolong the stream: after the end
        of the command itself, only what comes within a moment is read.
        """
        # Before the system call, because a cancellation after it would lose what was read.
        await anyio.lowlevel.checkpoint()
        drains = False
        while self._output is not None:
            try:
                data = os.read(self._output, _READ_SIZE)
            except BlockingIOError:
                if drains:
                    break
                drains = self._code is not None
                await self._readable(_DRAIN_SECONDS if drains else None)
                continue
            except OSError as error:
                if error.errno != errno.EIO:  # what a terminal says when nobody holds it any more
                    raise
                data = b""
            if not data:
                break
            return data
        self._close_output()
        return b""

    async def _readable(self, seconds: float | None) -> None:
        """Wait for output, the end of the command, or the deadline."""
        assert self._output is not None
        loop = asyncio.get_running_loop()
        waiter = self._waiter = loop.create_future()
        descriptor = self._output
        loop.add_reader(descriptor, _resolve, waiter)
        timer = None if seconds is None else loop.call_later(seconds, _resolve, waiter)
        try:
            await waiter
        finally:
            self._waiter = None
            loop.remove_reader(descriptor)
            if timer is not None:
                timer.cancel()

    async def write(self, data: bytes) -> None:
        """Write to its input.

        Raises:
            BrokenPipeError: Its input is closed.
        """
        await anyio.lowlevel.checkpoint()
        rest = memoryview(data)
        while rest:
            if self._input is None or self._code is not None:
                raise BrokenPipeError(errno.EPIPE, "the input of the command is closed")
            try:
                rest = rest[os.write(self._input, rest) :]
            except BlockingIOError:
                await self._writable(self._input)
            except OSError as error:
                raise BrokenPipeError(errno.EPIPE, "the input of the command is closed") from error

    async def _writable(self, descriptor: int) -> None:
        loop = asyncio.get_running_loop()
        # A duplicate, because a terminal is one descriptor for both directions and may have a
        # reader of its own at the same time, and because the end of the command closes ours.
        copy = os.dup(descriptor)
        waiter = loop.create_future()
        loop.add_writer(copy, _resolve, waiter)
        try:
            with anyio.move_on_after(0.5):  # so that the end of the command is noticed
                await waiter
        finally:
            loop.remove_writer(copy)
            os.close(copy)

    async def wait(self) -> int:
        """Await its end; exit code, or 128 + n when signal n ended it."""
        await self._ended.wait()
        assert self._code is not None
        return self._code

    def send_signal(self, number: int) -> None:
        """Send a signal to the command: as its sandbox says, else to its process group."""
        if self._code is not None:
            return
        forward = self._launch.forward_signal
        if forward is not None and forward(self.pid, number):
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, number)

    def kill(self) -> None:
        """Kill it and everything it started, sessions of their own included."""
        table = process_table()
        if self._code is None:
            _kill_tree(self.pid, table)
        for facts in _strays(table):
            if facts.session == self.pid:
                _kill_tree(facts.pid, table)

    def _watch(self, forget: Callable[[OwnedProcess], None]) -> None:
        """Have the event loop notice the end."""
        loop = asyncio.get_running_loop()
        if not hasattr(os, "pidfd_open"):
            _watch_in_thread(self._child, loop, lambda: self._finish(forget))
            return
        pidfd = os.pidfd_open(self.pid)

        def ended() -> None:
            loop.remove_reader(pidfd)
            os.close(pidfd)
            self._unwatch = None
            self._finish(forget)

        def unwatch() -> None:
            if not loop.is_closed():
                loop.remove_reader(pidfd)
            os.close(pidfd)

        loop.add_reader(pidfd, ended)
        self._unwatch = unwatch

    _unwatch: Callable[[], None] | None = None

    def _finish(self, forget: Callable[[OwnedProcess], None]) -> None:
        if self._code is not None:
            return
        status = self._child.wait()
        self._code = 128 - status if status < 0 else status
        if self._unwatch is not None:
            self._unwatch()
            self._unwatch = None
        if self._input is not None:
            os.close(self._input)
            self._input = None
        forget(self)
        if self._launch.cleanup is not None:
            self._launch.cleanup()
        self._ended.set()
        if self._waiter is not None:
            _resolve(self._waiter)

    def _close_output(self) -> None:
        if self._output is not None:
            os.close(self._output)
            self._output = None


class ProcessOwner:
    """Starts commands and answers for their end."""

    def __init__(self) -> None:
        """Make the kernel the reaper of what commands leave behind."""
        self._running: dict[int, OwnedProcess] = {}
        self._processes: WeakSet[OwnedProcess] = WeakSet()
        self._is_closed = False
        _become_subreaper()
        _owners.add(self)

    async def spawn(
        self, launch: Launch, *, tty: bool = False, open_stdin: bool = False
    ) -> OwnedProcess:
        """Start a command.

        Nothing is awaited, so that a cancellation finds it either owned or not started.

        Raises:
            OSError: It could not be started; everything was given back.
        """
        if self._is_closed:
            _give_back(launch)
            raise OSError(errno.ECANCELED, "the session has ended")
        _reap_strays()
        try:
            process = _start(launch, tty=tty, open_stdin=open_stdin)
        except BaseException:
            _give_back(launch)
            raise
        self._running[process.pid] = process
        self._processes.add(process)
        process._watch(self._forget)
        if launch.started is not None:
            launch.started()
        return process

    def alive(self) -> list[int]:
        """Return the commands that run and what ended commands left behind."""
        return [*self._running, *(facts.pid for facts in _strays(process_table()))]

    async def aclose(self) -> None:
        """Kill everything, descendants included, and reap it."""
        self._is_closed = True
        with anyio.CancelScope(shield=True):
            deadline = time.monotonic() + _REAP_SECONDS
            while self._kill_round() and time.monotonic() < deadline:
                await anyio.sleep(_POLL_SECONDS)
        self._dispose()

    def kill_all(self) -> None:
        """Do what `aclose` does where no event loop runs any more."""
        self._is_closed = True
        deadline = time.monotonic() + _REAP_SECONDS
        while self._kill_round() and time.monotonic() < deadline:
            time.sleep(_POLL_SECONDS)
            for process in list(self._running.values()):
                if process._child.poll() is not None:
                    process._finish(self._forget)
        self._dispose()

    def _kill_round(self) -> bool:
        """Kill what is left; tells whether anything was."""
        _reap_strays()
        if not self._running and not _has_children():
            return False
        table = process_table()
        for pid in self._running:
            _kill_tree(pid, table)
        strays = _strays(table)
        for facts in strays:
            _kill_tree(facts.pid, table)
        return bool(self._running or strays)

    def _dispose(self) -> None:
        for process in list(self._processes):
            if process._waiter is None:  # else its reader is awake already and closes it itself
                process._close_output()
        _owners.discard(self)

    def _forget(self, process: OwnedProcess) -> None:
        self._running.pop(process.pid, None)
        _reap_strays()


def _start(launch: Launch, *, tty: bool, open_stdin: bool) -> OwnedProcess:
    opened: list[int] = []  # everything, until somebody else owns it
    try:
        if tty:
            ours, theirs = open_terminal()
            opened += (ours, theirs)
            argv, stdin, output = adopting_argv(launch.argv, theirs), subprocess.DEVNULL, theirs
            writer: int | None = os.dup(ours)
            opened.append(writer)
        else:
            ours, theirs = os.pipe()
            opened += (ours, theirs)
            _enlarge(ours)
            argv, stdin, output, writer = launch.argv, subprocess.DEVNULL, theirs, None
            if open_stdin:
                stdin, writer = os.pipe()
                opened += (stdin, writer)
        child = subprocess.Popen(
            argv,
            env=launch.env,
            cwd=launch.cwd,
            stdin=stdin,
            stdout=output,
            stderr=output,
            pass_fds=launch.pass_fds,
            start_new_session=True,
            bufsize=0,
        )
        for descriptor in {ours, writer} - {None}:
            opened.remove(descriptor)
            os.set_blocking(descriptor, False)
        return OwnedProcess(child, launch, ours, writer)
    finally:
        for descriptor in opened:
            os.close(descriptor)


def _give_back(launch: Launch) -> None:
    if launch.cleanup is not None:
        launch.cleanup()


def _resolve(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)


def _enlarge(pipe: int) -> None:
    """Make a pipe hold more, so that a chatty command rarely waits for us."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):  # an ordinary user's share of pipe memory is bounded
            fcntl.fcntl(pipe, _F_SETPIPE_SZ, _PIPE_SIZE)


def _watch_in_thread(
    child: subprocess.Popen[bytes], loop: asyncio.AbstractEventLoop, ended: Callable[[], None]
) -> None:
    """Notice the end where the system has no descriptors for processes."""

    def wait() -> None:
        child.wait()
        with contextlib.suppress(RuntimeError):  # the loop is closed: kill_all has seen to it
            loop.call_soon_threadsafe(ended)

    threading.Thread(target=wait, name=f"wait-{child.pid}", daemon=True).start()


def _become_subreaper() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _kill_tree(pid: int, table: list[ProcessFacts]) -> None:
    below = descendants(table, pid)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
    for victim in (pid, *below):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(victim, signal.SIGKILL)


def _strays(table: list[ProcessFacts]) -> list[ProcessFacts]:
    """Return what came back to us: children nobody here started, in sessions that are not ours."""
    ours, session = os.getpid(), os.getsid(0)
    known = {pid for owner in _owners for pid in owner._running}
    return [
        facts
        for facts in table
        if facts.parent == ours
        and facts.session != session
        and facts.pid not in known
        and not facts.is_zombie
    ]


def _has_children() -> bool:
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def _reap_strays() -> None:
    """Take the exit status of ended strays, and of nothing that somebody else waits for."""
    known = {pid for owner in _owners for pid in owner._running}
    session = os.getsid(0)
    while True:
        try:
            # Looks at one ended child without reaping it, and costs a microsecond.
            ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if ended is None or ended.si_pid in known or os.getsid(ended.si_pid) == session:
                return
            os.waitpid(ended.si_pid, os.WNOHANG)
        except (ChildProcessError, ProcessLookupError):
            return
