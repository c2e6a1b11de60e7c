"""A bounded buffer between the connection and one reader of events.

The connection never waits for a reader, for the reader may itself wait for the connection. Where
the reader is slow, deltas of the same item are merged; nothing else is left out.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final, cast

import anyio

from ferrule_hookspecs.deltas import DELTA_METHODS
from ferrule_sdk.errors import SlowReaderError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from ferrule_hookspecs.events import DeltaParams, Event, ItemDelta

_MERGE_FROM: Final = 256
_LIMIT: Final = 20_000


class _Entry:
    """An event, and the deltas that were merged into it."""

    __slots__ = ("event", "more")

    def __init__(self, event: Event) -> None:
        self.event = event
        self.more: list[str] = []

    def taken(self) -> Event:
        if not self.more:
            return self.event
        event = cast("ItemDelta", self.event)
        params = event["params"]
        merged = {**params, "delta": "".join((params["delta"], *self.more))}
        return {"method": event["method"], "params": cast("DeltaParams", merged)}


class EventBuffer:
    """Events that wait to be read, by one reader."""

    def __init__(self) -> None:
        self._entries: deque[_Entry] = deque()
        self._deltas: dict[tuple[object, ...], _Entry] = {}
        self._wake = anyio.Event()
        self._is_closed = False
        self._error: Exception | None = None

    def put(self, event: Event) -> None:
        """Add an event; never waits."""
        if self._is_closed:
            return
        key = _delta_key(event)
        if key is not None and len(self._entries) >= _MERGE_FROM:
            known = self._deltas.get(key)
            if known is not None:
                known.more.append(cast("ItemDelta", event)["params"]["delta"])
                return
        if len(self._entries) >= _LIMIT:
            self.close(SlowReaderError(f"more than {_LIMIT} events wait to be read: read faster"))
            return
        entry = _Entry(event)
        self._entries.append(entry)
        if key is not None:
            self._deltas[key] = entry
        self._wake.set()

    def close(self, error: Exception | None = None) -> None:
        """Add nothing any more; the reader gets what is there, then the error or the end."""
        if not self._is_closed:
            self._is_closed, self._error = True, error
            self._wake.set()

    async def events(self) -> AsyncIterator[Event]:
        """Take the events out, in order; ends when the buffer is closed and empty."""
        while True:
            while self._entries:
                entry = self._entries.popleft()
                key = _delta_key(entry.event)
                if key is not None and self._deltas.get(key) is entry:
                    del self._deltas[key]
                yield entry.taken()
            if self._is_closed:
                if self._error is not None:
                    raise self._error
                return
            self._wake = anyio.Event()
            await self._wake.wait()


def _delta_key(event: Event) -> tuple[object, ...] | None:
    if event["method"] not in DELTA_METHODS:
        return None
    params = cast("ItemDelta", event)["params"]
    return event["method"], params["itemId"], params.get("summaryIndex"), params["threadId"]
