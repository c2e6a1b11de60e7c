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
from typing import TYPE_CHECKING, Final, NamedTuple

import anyio
import anyio.lowlevel

from ferrule.lineage import kill_tree, process_table
from ferrule.output_stream import OutputStream, resolve
from ferrule.terminal import adopting_argv, open_terminal, set_size
from ferrule_hookspecs.errors import FerruleError

if TYPE_CHECKING:
    from collections.abc import Callable

    from ferrule_hookspecs.sandbox import Launch

_PIPE_SIZE: Final = 1024 * 1024
_F_SETPIPE_SZ: Final = 1031
_WRITE_POLL_SECONDS: Final = 0.5


class Streams(NamedTuple):
    """What a command is given of descriptors.

    Attributes:
        tty: Whether it gets a terminal of `size`.
        open_stdin: Whether a pipe is kept open for input.
        size: Rows and columns of its terminal.
        separate_stderr: Whether stderr has a pipe of its own; a terminal has one for both.
    """

    tty: bool = False
    open_stdin: bool = False
    size: tuple[int, int] = (24, 80)
    separate_stderr: bool = False


class _Ends(NamedTuple):
    """Our ends of a command's descriptors."""

    output: int
    stderr: int | None
    stdin: int | None
    is_terminal: bool


class OwnedProcess:
    """A running command; satisfies `ferrule_hookspecs.tools.Process`."""

    def __init__(self, child: subprocess.Popen[bytes], launch: Launch, ends: _Ends) -> None:
        """Take over the descriptors."""
        self.pid = child.pid
        self.exit_code: int | None = None
        self._child = child
        self._launch = launch
        self._output = OutputStream(ends.output)
        self._stderr = None if ends.stderr is None else OutputStream(ends.stderr)
        self._input = ends.stdin
        self._is_terminal = ends.is_terminal
        self._ended = anyio.Event()
        self._fault: FerruleError | None = None
        self._on_end: Callable[[OwnedProcess], None] | None = None
        self._unwatch: Callable[[], None] | None = None

    async def read(self) -> bytes:
        """Await more output, stdout and stderr in one ordered stream; empty at its end."""
        return await self._output.read()

    async def read_stderr(self) -> bytes:
        """Await more of stderr, where it has a stream of its own; empty at its end."""
        return await self._stderr.read() if self._stderr is not None else b""

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
        if not self._is_terminal:
            self._drop_input()

    def _drop_input(self) -> None:
        if self._input is not None:
            os.close(self._input)
            self._input = None

    def resize(self, rows: int, columns: int) -> None:
        """Change the size of its terminal; nothing happens where it has none."""
        if self._input is not None and self._is_terminal:
            set_size(self._input, rows, columns)

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
        self._drop_input()
        try:
            if self._on_end is not None:
                self._on_end(self)
            if self._launch.cleanup is not None:
                self._launch.cleanup()
        except FerruleError as error:
            self._fault = error
        finally:
            self._ended.set()
            for stream in self._streams():
                stream.command_ended()

    def _streams(self) -> tuple[OutputStream, ...]:
        return (self._output,) if self._stderr is None else (self._output, self._stderr)

    def close_output(self) -> None:
        """Give up the output, unless somebody waits for it: they will do so themselves."""
        for stream in self._streams():
            stream.close()


def start(launch: Launch, streams: Streams) -> OwnedProcess:
    """Start a command as the leader of a session of its own."""
    opened: list[int] = []  # everything, until somebody else owns it
    try:
        argv, stdin, writer = launch.argv, subprocess.DEVNULL, None
        errors: int | None = None
        if streams.tty:
            ours, theirs = open_terminal(*streams.size)
            opened += (ours, theirs)
            if launch.adopts_terminal:
                stdin = theirs
            else:
                argv = adopting_argv(argv, theirs)
            writer = os.dup(ours)
            opened.append(writer)
            stderr = theirs
        else:
            ours, theirs = _pipe(opened)
            errors, stderr = _pipe(opened) if streams.separate_stderr else (None, theirs)
            if streams.open_stdin:
                stdin, writer = os.pipe()
                opened += (stdin, writer)
        child = subprocess.Popen(
            argv,
            env=launch.env,
            cwd=launch.cwd,
            stdin=stdin,
            stdout=theirs,
            stderr=stderr,
            pass_fds=launch.pass_fds,
            start_new_session=True,
            bufsize=0,
        )
        for descriptor in (ours, errors, writer):
            if descriptor is not None:
                os.set_blocking(descriptor, False)
                opened.remove(descriptor)
        return OwnedProcess(child, launch, _Ends(ours, errors, writer, streams.tty))
    finally:
        for descriptor in opened:
            os.close(descriptor)


def _pipe(opened: list[int]) -> tuple[int, int]:
    """Open a pipe for output; returns our side and the command's side."""
    ours, theirs = os.pipe()
    opened += (ours, theirs)
    _enlarge(ours)
    return ours, theirs


async def _writable(descriptor: int) -> None:
    """Wait until more can be written, or a moment, so that the end of the command is noticed."""
    loop = asyncio.get_running_loop()
    # A duplicate, because the end of the command closes the original.
    copy = os.dup(descriptor)
    waiter = loop.create_future()
    loop.add_writer(copy, resolve, waiter)
    try:
        with anyio.move_on_after(_WRITE_POLL_SECONDS):
            await waiter
    finally:
        loop.remove_writer(copy)
        os.close(copy)


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
