"""Real processes for plugins that are tried without a kernel: a launch becomes a running child."""

from __future__ import annotations

import asyncio
import os
import signal
from typing import TYPE_CHECKING, Final

import anyio

if TYPE_CHECKING:
    from ferrule_hookspecs.sandbox import Command, Launch

_CHUNK: Final = 65_536


class LocalProcess:
    """A child in a session of its own; satisfies the contract's `Process`."""

    def __init__(
        self, child: asyncio.subprocess.Process, launch: Launch, terminal: int | None
    ) -> None:
        """Take over a child, and the end of its terminal, if it has one."""
        self.pid = child.pid
        self._child = child
        self._launch = launch
        self._terminal = terminal
        self._is_over = False

    async def read(self) -> bytes:
        """Await more output; empty at its end."""
        if self._terminal is not None:
            return await self._read_terminal(self._terminal)
        return b"" if self._child.stdout is None else await self._child.stdout.read(_CHUNK)

    async def read_stderr(self) -> bytes:
        """Await more of stderr; empty at its end."""
        return b"" if self._child.stderr is None else await self._child.stderr.read(_CHUNK)

    async def write(self, data: bytes) -> None:
        """Write to its input."""
        if self._terminal is not None:
            os.write(self._terminal, data)
        elif self._child.stdin is not None:
            self._child.stdin.write(data)
            await self._child.stdin.drain()

    def resize(self, rows: int, columns: int) -> None:
        """Change the size of its terminal."""
        if self._terminal is not None:
            import termios

            termios.tcsetwinsize(self._terminal, (rows, columns))

    def close_input(self) -> None:
        """End its input."""
        if self._child.stdin is not None:
            self._child.stdin.close()

    async def wait(self) -> int:
        """Await its end."""
        code = await self._child.wait()
        return 128 - code if code < 0 else code

    def send_signal(self, number: int) -> None:
        """Send a signal to the command."""
        forward = self._launch.forward_signal
        if forward is not None and forward(self.pid, number):
            return
        self._signal_group(number)

    def kill(self) -> None:
        """Kill it and everything it started."""
        if os.name == "posix":
            self._signal_group(signal.SIGKILL)
        elif self._child.returncode is None:
            self._child.kill()

    async def aclose(self) -> None:
        """Kill what is left of it and let go of its pipes; more than once does no harm."""
        if self._is_over:
            return
        self._is_over = True
        with anyio.CancelScope(shield=True):
            self.kill()
            self.close_input()
            await self._child.communicate()
        if self._terminal is not None:
            os.close(self._terminal)
            self._terminal = None
        if self._launch.cleanup is not None:
            self._launch.cleanup()

    def _signal_group(self, number: int) -> None:
        try:
            os.killpg(self.pid, number)
        except (ProcessLookupError, PermissionError):  # nobody of the group is left
            return

    async def _read_terminal(self, terminal: int) -> bytes:
        await anyio.wait_readable(terminal)
        try:
            return os.read(terminal, _CHUNK)
        except OSError:  # Linux says so where the other end is closed
            return b""


async def start(launch: Launch, command: Command) -> LocalProcess:
    """Start a launch as the kernel does.

    Raises:
        OSError: It could not be started; its `cleanup` was called.
    """
    terminal, end = os.openpty() if command.tty else (None, None)
    inward = asyncio.subprocess.PIPE if command.open_stdin else asyncio.subprocess.DEVNULL
    error = asyncio.subprocess.PIPE if command.separate_stderr else asyncio.subprocess.STDOUT
    try:
        child = await asyncio.create_subprocess_exec(
            *launch.argv,
            env=dict(launch.env),
            cwd=launch.cwd,
            pass_fds=launch.pass_fds,
            start_new_session=True,
            stdin=inward if end is None else end,
            stdout=asyncio.subprocess.PIPE if end is None else end,
            stderr=error if end is None else end,
        )
    except BaseException:
        if terminal is not None:
            os.close(terminal)
        if launch.cleanup is not None:
            launch.cleanup()
        raise
    finally:
        if end is not None:
            os.close(end)
    if launch.started is not None:
        launch.started()
    return LocalProcess(child, launch, terminal)
