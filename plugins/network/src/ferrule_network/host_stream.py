"""A connection to a host on a bare socket, so that large answers can stay inside the system.

Copying is what a proxy spends its time with. Where the system can move bytes from socket to socket
(Linux, by `splice`), long answers never enter this process.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from contextlib import ExitStack, suppress
from typing import Final

import anyio
from anyio.abc import ByteStream, SocketAttribute
from anyio.lowlevel import checkpoint

from ferrule_network.host import Address

CHUNK: Final = 256 * 1024
_PIPE: Final = 1024 * 1024


async def connect_host(address: Address, port: int) -> HostStream:
    """Connect to an address; raises `OSError`."""
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    link = socket.socket(family, socket.SOCK_STREAM)
    try:
        link.setblocking(False)
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        await _connect(link, (str(address), port))
    except BaseException:
        link.close()
        raise
    return HostStream(link)


async def _connect(link: socket.socket, where: tuple[str, int]) -> None:
    with suppress(BlockingIOError):
        link.connect(where)
    await anyio.wait_writable(link)
    error = link.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    if error:
        raise OSError(error, os.strerror(error))


class HostStream(ByteStream):
    """A connection to a host."""

    def __init__(self, link: socket.socket) -> None:
        """Take over a connected socket that does not block."""
        self._link = link

    async def receive(self, max_bytes: int = CHUNK) -> bytes:
        """Read what there is; raises `anyio.EndOfStream` at the end."""
        while True:
            try:
                data = self._link.recv(max_bytes)
            except BlockingIOError:
                await anyio.wait_readable(self._link)
            except OSError as error:
                raise anyio.BrokenResourceError from error
            else:
                if not data:
                    raise anyio.EndOfStream
                return data

    async def send(self, item: bytes) -> None:
        """Write everything."""
        await checkpoint()
        left = memoryview(item)
        while left:
            try:
                left = left[self._link.send(left) :]
            except BlockingIOError:
                await anyio.wait_writable(self._link)
            except OSError as error:
                raise anyio.BrokenResourceError from error

    async def send_eof(self) -> None:
        """End the direction to the host."""
        await checkpoint()
        with suppress(OSError):
            self._link.shutdown(socket.SHUT_WR)

    async def aclose(self) -> None:
        """Close it."""
        self._link.close()
        await checkpoint()

    async def pour(self, sink: ByteStream, most: int | None, moved: Callable[[int], None]) -> None:
        """Move bytes to a command inside the system, as far as that is possible.

        Args:
            sink: The command's side, to which nothing else is written meanwhile.
            most: How many bytes to move; None for all there are.
            moved: Is told each number of bytes that arrived.

        Raises:
            anyio.BrokenResourceError: One side is gone.
        """
        with ExitStack() as stack:
            try:
                pipe = _pipe(stack)
                target = os.dup(sink.extra(SocketAttribute.raw_socket).fileno())  # noqa: S610
            except (OSError, AttributeError, ImportError):
                return  # not this system, or no descriptor left: whoever calls copies
            stack.callback(os.close, target)
            while most is None or most > 0:
                count = await self._fill(pipe[1], _PIPE if most is None else min(most, _PIPE))
                if not count:
                    return
                await _empty(pipe[0], target, count)
                most = None if most is None else most - count
                moved(count)
                await checkpoint()

    async def _fill(self, pipe: int, most: int) -> int:
        while True:
            try:
                return os.splice(self._link.fileno(), pipe, most, flags=os.SPLICE_F_NONBLOCK)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]
            except BlockingIOError:
                await anyio.wait_readable(self._link)
            except OSError as error:
                raise anyio.BrokenResourceError from error


async def _empty(pipe: int, target: int, count: int) -> None:
    while count:
        try:
            count -= os.splice(pipe, target, count, flags=os.SPLICE_F_NONBLOCK)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
        except BlockingIOError:
            await anyio.wait_writable(target)
        except OSError as error:
            raise anyio.BrokenResourceError from error


def _pipe(stack: ExitStack) -> tuple[int, int]:
    """Open a pipe that does not block; raises `AttributeError` where splicing is unknown."""
    import fcntl

    _ = os.splice  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]
    ends = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    for end in ends:
        stack.callback(os.close, end)
    with suppress(OSError):  # a user may have only so much in pipes
        fcntl.fcntl(ends[1], fcntl.F_SETPIPE_SZ, _PIPE)  # pyright: ignore[reportAttributeAccessIssue]
    return ends
