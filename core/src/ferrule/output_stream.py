"""What a command writes, read as it comes. A process has one of these, or one for each stream."""

from __future__ import annotations

import asyncio
import errno
import os
from typing import Final

import anyio.lowlevel

_READ_SIZE: Final = 256 * 1024
_DRAIN_SECONDS: Final = 0.1


class OutputStream:
    """The reading end of a pipe or of a terminal."""

    def __init__(self, descriptor: int) -> None:
        """Take over the descriptor."""
        self._descriptor: int | None = descriptor
        self._has_ended = False
        self._reader: asyncio.Future[None] | None = None

    def __del__(self) -> None:
        """Close what was left unread where nobody can read it any more, as after a time limit."""
        self.close()

    async def read(self) -> bytes:
        """Await more; empty at the end.

        A background process that keeps the stream open does not prolong it: after the end of the
        command itself, only what comes within a moment is read.
        """
        # Before the system call, because a cancellation after it would lose what was read.
        await anyio.lowlevel.checkpoint()
        is_draining = False
        while self._descriptor is not None:
            data = _read_some(self._descriptor)
            if data:
                return data
            if data is not None or is_draining:
                break
            is_draining = self._has_ended
            await self._readable(self._descriptor, _DRAIN_SECONDS if is_draining else None)
        self.close()
        return b""

    async def _readable(self, descriptor: int, seconds: float | None) -> None:
        """Wait for output, the end of the command, or the deadline."""
        loop = asyncio.get_running_loop()
        reader = self._reader = loop.create_future()
        loop.add_reader(descriptor, resolve, reader)
        timer = None if seconds is None else loop.call_later(seconds, resolve, reader)
        try:
            await reader
        finally:
            self._reader = None
            loop.remove_reader(descriptor)
            if timer is not None:
                timer.cancel()

    def command_ended(self) -> None:
        """Have whoever reads look again: the command itself has ended."""
        self._has_ended = True
        if self._reader is not None:
            resolve(self._reader)

    def close(self) -> None:
        """Give it up, unless somebody waits for it: they will do so themselves."""
        if self._descriptor is not None and self._reader is None:
            os.close(self._descriptor)
            self._descriptor = None


def resolve(waiter: asyncio.Future[None]) -> None:
    """Wake a waiter; one that was woken already is left alone."""
    if not waiter.done():
        waiter.set_result(None)


def _read_some(descriptor: int) -> bytes | None:
    """Read what is there: None when nothing is there yet, empty at the end."""
    try:
        return os.read(descriptor, _READ_SIZE)
    except BlockingIOError:
        return None
    except OSError as error:
        if error.errno == errno.EIO:  # what a terminal says when nobody holds it any more
            return _read_rest(descriptor)
        raise


def _read_rest(terminal: int) -> bytes:
    """Read what was written between the kernel's look for output and its look for an owner."""
    try:
        return os.read(terminal, _READ_SIZE)
    except OSError:
        return b""
