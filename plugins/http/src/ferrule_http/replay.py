"""The events of one client: numbered, kept for a while after they were sent, never lost unsent.

Whoever appends waits while the log is full of events that nobody has read, so that what is behind
it is held back. Events that were sent stay until newer ones need the room: a client that lost its
stream asks for those after the last one it saw.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

import anyio

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from ferrule_http.settings import Settings

_BATCH_BYTES: Final = 64 * 1024
_HELLO: Final = b"retry: 1000\n\n"
_ALIVE: Final = b": keep-alive\n\n"


class UnknownEventError(Exception):
    """A client claims to have seen an event that there has not been yet."""


class ReplayLog:
    """A numbered log with one reader at a time; the latest takes over."""

    def __init__(self, settings: Settings) -> None:
        self._most_events = settings.replay_events
        self._most_bytes = settings.replay_bytes
        self._keep_alive_s = settings.keep_alive_s
        self._events: dict[int, bytes] = {}
        self._bytes = 0
        self._last = 0
        self._sent = 0
        self._readers = 0
        self._is_read = False
        self._is_closed = False
        self._news = anyio.Event()
        self._room = anyio.Event()

    @property
    def is_read(self) -> bool:
        """Whether somebody reads it now."""
        return self._is_read

    async def append(self, message: bytes) -> None:
        """Add an event; waits for room."""
        event = _encode(self._last + 1, message)
        while not self._makes_room_for(event):
            self._room = anyio.Event()
            await self._room.wait()
        self._last += 1
        self._events[self._last] = event
        self._bytes += len(event)
        self._wake()

    def close(self) -> None:
        """End the reader once it has read what there is."""
        self._is_closed = True
        self._wake()

    def open(self, seen: int) -> AsyncGenerator[bytes]:
        """Read from behind the last event a client has seen; earlier readers end.

        Raises:
            UnknownEventError: There has been no such event.
        """
        if not 0 <= seen <= self._last:
            raise UnknownEventError
        self._readers += 1
        self._wake()
        return self._read(seen, self._readers)

    async def _read(self, seen: int, reader: int) -> AsyncGenerator[bytes]:
        self._is_read = True
        try:
            yield _HELLO
            first = self._last + 1 - len(self._events)
            if seen < first - 1:
                yield _gap(seen + 1, first - 1)
                seen = first - 1
            while reader == self._readers:
                news = self._news
                if batch := self._batch(seen):
                    yield b"".join(batch)
                    seen += len(batch)
                    self._note_sent(seen)
                elif self._is_closed:
                    return
                else:
                    with anyio.move_on_after(self._keep_alive_s) as waiting:
                        await news.wait()
                    if waiting.cancelled_caught:
                        yield _ALIVE
        finally:
            if reader == self._readers:
                self._is_read = False

    def _batch(self, seen: int) -> list[bytes]:
        batch: list[bytes] = []
        size = 0
        while size < _BATCH_BYTES and (event := self._events.get(seen + len(batch) + 1)):
            batch.append(event)
            size += len(event)
        return batch

    def _note_sent(self, seen: int) -> None:
        self._sent = max(self._sent, seen)
        self._room.set()

    def _makes_room_for(self, event: bytes) -> bool:
        """Forget the oldest events that were sent, as far as the new one needs the room."""
        while self._events and (
            len(self._events) >= self._most_events or self._bytes + len(event) > self._most_bytes
        ):
            oldest = next(iter(self._events))
            if oldest > self._sent:
                return False
            self._bytes -= len(self._events.pop(oldest))
        return True

    def _wake(self) -> None:
        self._news.set()
        self._news = anyio.Event()


def _encode(number: int, message: bytes) -> bytes:
    # Ends of lines would end the field; between the tokens of JSON any of them may stand.
    lines = message.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
    return b"".join((b"id: %d\n" % number, *(b"data: %b\n" % line for line in lines), b"\n"))


def _gap(first: int, last: int) -> bytes:
    told = json.dumps({"firstMissing": first, "lastMissing": last}, separators=(",", ":"))
    return f"event: gap\ndata: {told}\n\n".encode()
