"""One command: its descriptors, its output stream and its end. The process owner makes these."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import fcntl
import os
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Final

import anyio
import anyio.lowlevel

from ferrule.lineage import kill_tree, process_table
from ferrule.terminal import adopting_argv, open_terminal
from ferrule_hookspecs.errors import FerruleError

if TYPE_CHECKING:
    from collections.abc import Callable

    from ferrule_hookspecs.sandbox import Launch

_READ_SIZE: Final = 256 * 1024
_PIPE_SIZE: Final = 1024 * 1024
_F_SETPIPE_SZ: Final = 1031
_DRAIN_SECONDS: Final = 0.1
_WRITE_POLL_SECONDS: Final = 0.5


class OwnedProcess:
    """A running command; satisfies `ferrule_hookspecs.tools.Process`."""

    def __init__(
        self,
        child: subprocess.Popen[bytes],
        launch: Launch,
        output: int,
        stdin: int | None,
    ) -> None:
        """Take over the descriptors."""
        self.pid = child.pid
        self.exit_code: int | None = None
        self._child = child
        self._launch = launch
        self._output: int | None = output
        self._input = stdin
        self._ended = anyio.Event()
        self._fault: FerruleError | None = None
        self._reader: asyncio.Future[None] | None = None
        self._on_end: Callable[[OwnedProcess], None] | None = None
        self._unwatch: Callable[[], None] | None = None

    async def read(self) -> bytes:
        """Await more output, stdout and stderr in one ordered stream; empty at its end.

        A background process that keeps the output open does not prolong the stream: after the end
        of the command itself, only what comes within a moment is read.
        """
        # Before the system call, because a cancellation after it would lose what was read.
        await anyio.lowlevel.checkpoint()
        is_draining = False
        while self._output is not None:
            data = _read_some(self._output)
            if data:
                return data
            if data is not None or is_draining:
                break
            is_draining = self.exit_code is not None
            await self._readable(self._output, _DRAIN_SECONDS if is_draining else None)
        self.close_output()
        return b""

    async def _readable(self, descriptor: int, seconds: float | None) -> None:
        """Wait for output, the end of the command, or the deadline."""
        loop = asyncio.get_running_loop()
        reader = self._reader = loop.create_future()
        loop.add_reader(descriptor, _resolve, reader)
        timer = None if seconds is None else loop.call_later(seconds, _resolve, reader)
        try:
            await reader
        finally:
            self._reader = None
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
            if self._input is None:
                raise BrokenPipeError(errno.EPIPE, "the input of the command is closed")
            try:
                rest = rest[os.write(self._input, rest) :]
            except BlockingIOError:
                await _writable(self._input)
            except OSError as error:
                raise BrokenPipeError(errno.EPIPE, "the input of the command is closed") from error

    def close_input(self) -> None:
        """End its input, so that a program that reads to the end can finish."""
        if self._input is not None:
            os.close(self._input)
            self._input = None

    async def wait(self) -> int:
        """Await its end; exit code, or 128 + n when signal n ended it.

        Raises:
            FerruleError: The sandbox found, cleaning up, that something had gone wrong.
        """
        await self._ended.wait()
        if self._fault is not None:
            raise self._fault
        return 0 if self.exit_code is None else self.exit_code

    def send_signal(self, number: int) -> None:
        """Send a signal to the command: as its sandbox says, else to its process group."""
        if self.exit_code is not None:
            return
        forward = self._launch.forward_signal
        if forward is not None and forward(self.pid, number):
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, number)

    def kill(self) -> None:
        """Kill it and everything it started, sessions of their own included."""
        table = process_table()
        if self.exit_code is None:
            kill_tree(self.pid, table)
        for facts in table:
            # Once the leader is reaped, what is left of its session has come back to us.
            if facts.session == self.pid and facts.parent == os.getpid() and not facts.is_zombie:
                kill_tree(facts.pid, table)

    def watch(self, on_end: Callable[[OwnedProcess], None]) -> None:
        """Have the event loop notice the end; `on_end` is called once, before the cleanup."""
        self._on_end = on_end
        loop = asyncio.get_running_loop()
        if sys.platform != "linux":
            _watch_in_thread(self._child, loop, self.finish)
            return
        pidfd = os.pidfd_open(self.pid)

        def unwatch() -> None:
            if not loop.is_closed():
                loop.remove_reader(pidfd)
            os.close(pidfd)

        self._unwatch = unwatch
        loop.add_reader(pidfd, self.finish)

    def has_ended(self) -> bool:
        """Look whether it has ended, where no event loop tells."""
        return self._child.poll() is not None

    def finish(self) -> None:
        """Reap the ended command and give back what it held, except for unread output."""
        if self.exit_code is not None:
            return
        status = self._child.wait()
        self.exit_code = 128 - status if status < 0 else status
        if self._unwatch is not None:
            self._unwatch()
            self._unwatch = None
        self.close_input()
        try:
            if self._on_end is not None:
                self._on_end(self)
            if self._launch.cleanup is not None:
                self._launch.cleanup()
        except FerruleError as error:
            self._fault = error
        finally:
            self._ended.set()
            if self._reader is not None:
                _resolve(self._reader)

    @property
    def is_open(self) -> bool:
        """Whether its output is still to be read."""
        return self._output is not None

    def close_output(self) -> None:
        """Give up the output, unless somebody waits for it: they will do so themselves."""
        if self._output is not None and self._reader is None:
            os.close(self._output)
            self._output = None


def start(launch: Launch, *, tty: bool, open_stdin: bool) -> OwnedProcess:
    """Start a command as the leader of a session of its own."""
    opened: list[int] = []  # everything, until somebody else owns it
    try:
        argv, stdin, writer = launch.argv, subprocess.DEVNULL, None
        if tty:
            ours, theirs = open_terminal()
            opened += (ours, theirs)
            if launch.adopts_terminal:
                stdin = theirs
            else:
                argv = adopting_argv(argv, theirs)
            writer = os.dup(ours)
            opened.append(writer)
        else:
            ours, theirs = os.pipe()
            opened += (ours, theirs)
            _enlarge(ours)
            if open_stdin:
                stdin, writer = os.pipe()
                opened += (stdin, writer)
        child = subprocess.Popen(
            argv,
            env=launch.env,
            cwd=launch.cwd,
            stdin=stdin,
            stdout=theirs,
            stderr=theirs if launch.stderr is None else launch.stderr,
            pass_fds=launch.pass_fds,
            start_new_session=True,
            bufsize=0,
        )
        for descriptor in (ours,) if writer is None else (ours, writer):
            os.set_blocking(descriptor, False)
            opened.remove(descriptor)
        return OwnedProcess(child, launch, ours, writer)
    finally:
        for descriptor in opened:
            os.close(descriptor)


def _read_some(descriptor: int) -> bytes | None:
    """Read what is there: None when nothing is there yet, empty at the end."""
    try:
        return os.read(descriptor, _READ_SIZE)
    except BlockingIOError:
        return None
    except OSError as error:
        if error.errno == errno.EIO:  # what a terminal says when nobody holds it any more
            return b""
        raise


async def _writable(descriptor: int) -> None:
    """Wait until more can be written, or a moment, so that the end of the command is noticed."""
    loop = asyncio.get_running_loop()
    # A duplicate, because the end of the command closes the original.
    copy = os.dup(descriptor)
    waiter = loop.create_future()
    loop.add_writer(copy, _resolve, waiter)
    try:
        with anyio.move_on_after(_WRITE_POLL_SECONDS):
            await waiter
    finally:
        loop.remove_writer(copy)
        os.close(copy)


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
