"""The transport `stdio`: one message per line, for the one client that started the server."""

from __future__ import annotations

import os
import stat
import sys
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Final

import anyio
from anyio.lowlevel import checkpoint

from ferrule_hookspecs.errors import FerruleError
from ferrule_hookspecs.serving import MESSAGE_LIMIT, Peer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from ferrule_hookspecs.plugins import PluginContext
    from ferrule_hookspecs.serving import Connection, Endpoint, Server

_CHUNK: Final = 256 * 1024
_STDIN: Final = 0
_STDOUT: Final = 1
_STDERR: Final = 2
_TURNS: Final = 64
"""Messages that are written before others get a turn of the loop."""
_LOST: Final = b'"a message that is longer than the limit'
"""What stands for a message too long to keep: the server refuses it as it refuses broken JSON."""


class StdioTransport:
    """Serves the process that started this one; satisfies the contract's `Transport`."""

    name = "stdio"

    def __init__(self, context: PluginContext) -> None:
        self._is_taken = False

    async def serve(self, server: Server, endpoint: Endpoint, ready: Callable[[str], None]) -> None:
        """Serve until stdin ends or nobody reads stdout."""
        if self._is_taken:
            raise FerruleError("stdio:// can be listened on only once; leave out the second one")
        self._is_taken = True
        connection = server.connect(Peer(self.name))
        ready(endpoint.url)
        # What a plugin prints must not get among the messages.
        with redirect_stdout(sys.stderr):
            await self._carry(connection)

    async def _carry(self, connection: Connection) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(_write_all, connection, group.cancel_scope)
            try:
                async for line in _lines():
                    await connection.receive(line)
                await connection.drain()
            finally:
                with anyio.CancelScope(shield=True):
                    await connection.aclose()
            group.cancel_scope.cancel()


async def _write_all(connection: Connection, scope: anyio.CancelScope) -> None:
    output = _Output(_STDOUT)
    count = 0
    try:
        async for message in connection.messages():
            await output.write(message + b"\n")
            count += 1
            if count % _TURNS == 0:
                await checkpoint()
    except ConnectionError:
        scope.cancel()
    finally:
        output.restore()


async def _lines() -> AsyncIterator[bytes]:
    """Yield lines; of one that is too long nothing but that it was."""
    pieces: list[bytes] = []
    size = 0
    can_wait = sys.platform != "win32" and not _is_file(_STDIN)
    while chunk := await _read(can_wait=can_wait):
        *ends, rest = chunk.split(b"\n")
        for end in ends:
            line = b"".join((*pieces, end)) if size + len(end) <= MESSAGE_LIMIT else _LOST
            pieces, size = [], 0
            if line.strip():
                yield line
        size += len(rest)
        pieces = [*pieces, rest] if size <= MESSAGE_LIMIT else []
    if line := b"".join(pieces).strip():
        yield line


async def _read(*, can_wait: bool) -> bytes:
    if not can_wait:
        return await anyio.to_thread.run_sync(os.read, _STDIN, _CHUNK, abandon_on_cancel=True)
    await anyio.wait_readable(_STDIN)
    return os.read(_STDIN, _CHUNK)


def _is_file(descriptor: int) -> bool:
    """Whether a loop cannot wait for it: files, and devices such as `/dev/null`."""
    mode = os.fstat(descriptor).st_mode
    return stat.S_ISREG(mode) or (stat.S_ISCHR(mode) and not os.isatty(descriptor))


class _Output:
    """Where messages are written; a reader that is slow holds up nobody else."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._was_blocking = False
        if sys.platform != "win32" and not _is_file(descriptor) and not _shares(descriptor):
            self._was_blocking = os.get_blocking(descriptor)
            os.set_blocking(descriptor, False)

    async def write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            try:
                view = view[os.write(self._descriptor, view) :]
            except BlockingIOError:
                await anyio.wait_writable(self._descriptor)

    def restore(self) -> None:
        """Leave the descriptor as it was; others may have it, too."""
        if self._was_blocking:
            os.set_blocking(self._descriptor, True)


def _shares(descriptor: int) -> bool:
    """Whether stderr goes to the same place: it must block, for nobody there tries again."""
    try:
        own, other = os.fstat(descriptor), os.fstat(_STDERR)
    except OSError:
        return False
    return (own.st_dev, own.st_ino) == (other.st_dev, other.st_ino)
