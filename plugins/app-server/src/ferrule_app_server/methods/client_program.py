"""One program that a client runs: its output, its time limit, its end."""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, Protocol

import anyio

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from ferrule_hookspecs.sandbox import Command
    from ferrule_hookspecs.tools import Process, SandboxSession

DEFAULT_CAP: Final = 1024 * 1024
DEFAULT_TIMEOUT_MS: Final = 10_000
TIMED_OUT: Final = 124
_TERMINAL_KILLED: Final = 1
_KILL_GRACE_S: Final = 5.0

StreamName = Literal["stdout", "stderr"]


class Listener(Protocol):
    """Who is told of output as it comes."""

    def __call__(self, stream: StreamName, data: str, *, cap_reached: bool) -> None:
        """Tell of more output, in base64."""
        ...


class Limits(NamedTuple):
    """What a program may use; None is no limit."""

    timeout_ms: int | None
    cap: int | None


class Captured:
    """What a stream gave, up to the cap."""

    def __init__(self, cap: int | None) -> None:
        """Keep at most `cap` bytes."""
        self._left = cap
        self._kept = bytearray()
        self.cap_reached = False

    def add(self, data: bytes, *, keep: bool) -> bytes:
        """Take more; returns the part below the cap."""
        if self._left is not None:
            self.cap_reached = self.cap_reached or len(data) > self._left
            data = data[: self._left]
            self._left -= len(data)
        if keep:
            self._kept += data
        return data

    @property
    def text(self) -> str:
        """What was kept."""
        return self._kept.decode("utf-8", "replace")


class ClientProgram:
    """A program from its start to its end; whoever runs it waits for `finish`."""

    def __init__(
        self, limits: Limits, listener: Listener | None, room: Callable[[], Awaitable[None]]
    ) -> None:
        """Tell `listener` of the output; without one it is kept. `room` slows it down."""
        self.stdout = Captured(limits.cap)
        self.stderr = Captured(limits.cap)
        self._timeout_ms = limits.timeout_ms
        self._listener = listener
        self._room = room
        self._process: Process | None = None
        self._was_tried = anyio.Event()
        self._is_terminal = False
        self._was_ended = False

    async def start(self, sandbox: SandboxSession, command: Command) -> None:
        """Start it."""
        self._is_terminal = command.tty
        try:
            self._process = await sandbox.spawn(command)
        finally:
            self._was_tried.set()
        if self._was_ended:
            self._process.kill()

    async def finish(self) -> int:
        """Await its end and return the exit code; 124 where its time was up."""
        process = self._process
        if process is None:
            raise RuntimeError("the program was not started")
        timeout = None if self._timeout_ms is None else self._timeout_ms / 1000
        code = TIMED_OUT
        try:
            with anyio.move_on_after(timeout):
                async with anyio.create_task_group() as group:
                    group.start_soon(self._collect, process.read, "stdout", self.stdout)
                    group.start_soon(self._collect, process.read_stderr, "stderr", self.stderr)
                code = await process.wait()
        finally:
            process.kill()
            with anyio.CancelScope(shield=True), anyio.move_on_after(_KILL_GRACE_S):
                await process.wait()
        return _TERMINAL_KILLED if self._was_ended and self._is_terminal else code

    async def _collect(
        self, read: Callable[[], Awaitable[bytes]], name: StreamName, into: Captured
    ) -> None:
        while data := await read():
            had_reached = into.cap_reached
            part = into.add(data, keep=self._listener is None)
            if self._listener is not None and (part or not had_reached):
                encoded = b64encode(part).decode()
                self._listener(name, encoded, cap_reached=into.cap_reached)
                await self._room()

    async def write(self, data: bytes) -> None:
        """Write to its input, once it runs.

        Raises:
            BrokenPipeError: The input is closed, or the program could not be started.
        """
        await self._was_tried.wait()
        if self._process is None:
            raise BrokenPipeError
        await self._process.write(data)

    async def close_input(self) -> None:
        """Let it read end of file."""
        await self._was_tried.wait()
        if self._process is not None:
            self._process.close_input()

    async def resize(self, rows: int, columns: int) -> None:
        """Change the size of its terminal."""
        await self._was_tried.wait()
        if self._process is not None:
            self._process.resize(rows, columns)

    def give_up(self) -> None:
        """Let nobody wait any longer for its start."""
        self._was_tried.set()

    def end(self) -> None:
        """Kill it and everything it started."""
        self._was_ended = True
        if self._process is not None:
            self._process.kill()
