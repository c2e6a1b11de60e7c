"""A server of our own as a child process: one JSON text a line on its standard input and output."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
from collections import deque
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Final

import anyio

from ferrule_sdk.errors import ConnectionLostError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping, Sequence

    from anyio.abc import Process

_PATIENCE_S: Final = 2.0
_STDERR_LINES: Final = 20
_MESSAGE_LIMIT: Final = 128 * 1024 * 1024


class StdioChannel:
    """A channel to a child process."""

    def __init__(self, process: Process, command: Sequence[str]) -> None:
        if process.stdin is None or process.stdout is None or process.stderr is None:
            raise ValueError("the process was not started with pipes")
        self._process = process
        self._stdin, self._stdout = process.stdin, process.stdout
        self._stderr = process.stderr
        self._name = shlex.join(command)
        self._rest = bytearray()
        self._lines: deque[bytes] = deque()
        self._said: deque[str] = deque(maxlen=_STDERR_LINES)
        self._has_ended = anyio.Event()

    async def send(self, message: bytes) -> None:
        """Write a line."""
        try:
            await self._stdin.send(message + b"\n")
        except (anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
            raise ConnectionLostError(f"the server {self._name} reads nothing any more") from None

    async def receive(self) -> bytes:
        """Read a line."""
        while not self._lines:
            try:
                chunk = await self._stdout.receive(65536)
            except (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError):
                raise ConnectionLostError(await self._epitaph()) from None
            *lines, rest = chunk.split(b"\n")
            if lines:
                self._lines.append(bytes(self._rest) + lines[0])
                self._lines.extend(lines[1:])
                self._rest.clear()
            self._rest += rest
            if len(self._rest) > _MESSAGE_LIMIT:
                raise ConnectionLostError(f"the server {self._name} sent a line without an end")
        return self._lines.popleft()

    async def listen_to_stderr(self) -> None:
        """Keep the last lines that the server says on stderr; they may say why it ended."""
        rest = b""
        with suppress(anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError):
            while True:
                *lines, rest = (rest + await self._stderr.receive(65536)).split(b"\n")
                self._said.extend(line.decode("utf-8", "replace") for line in lines)
                rest = rest[-65536:]
        if rest:
            self._said.append(rest.decode("utf-8", "replace"))
        self._has_ended.set()

    async def _epitaph(self) -> str:
        code: int | None = None
        with anyio.move_on_after(_PATIENCE_S):
            code = await self._process.wait()
            await self._has_ended.wait()
        how = "closed its output" if code is None else _ending(code)
        said = "; ".join(line.strip() for line in self._said if line.strip())
        return f"the server {self._name} {how}" + (f": {said[-2000:]}" if said else "")


def _ending(code: int) -> str:
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        return f"was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"was ended by signal {-code}"


@asynccontextmanager
async def open_stdio(
    command: Sequence[str], environ: Mapping[str, str], cwd: str | None
) -> AsyncGenerator[StdioChannel]:
    """Start a server and end it with the block.

    Raises:
        ConnectionLostError: It cannot be started.
    """
    try:
        process = await anyio.open_process(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environ,
            cwd=cwd,
            start_new_session=os.name == "posix",
        )
    except OSError as error:
        reason = error.strerror or str(error)
        raise ConnectionLostError(f"{command[0]!r} cannot be started: {reason}") from error
    channel = StdioChannel(process, command)
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(channel.listen_to_stderr)
            try:
                yield channel
            finally:
                await _end(process)
                group.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            await process.aclose()


async def _end(process: Process) -> None:
    """Ask the server to end, ever less kindly, until it has."""
    with anyio.CancelScope(shield=True):
        if process.stdin is not None:
            with suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
                await process.stdin.aclose()
        for ask in (lambda: None, process.terminate, process.kill):
            with suppress(ProcessLookupError):
                ask()
            with anyio.move_on_after(_PATIENCE_S):
                await process.wait()
                return
