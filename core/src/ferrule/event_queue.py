"""The outgoing half of a session's queue pair.

Putting never waits, so that tools may report from anywhere; producers that can wait call `room()`
between steps. Only deltas are merged for a slow reader; everything else stays whole and in order.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final, cast

import anyio

from ferrule_hookspecs.deltas import DELTA_METHODS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from ferrule_hookspecs.events import Outgoing

_HIGH_WATER: Final = 512
_BEHIND: Final = 32
"""From this many waiting events on a reader counts as slow."""
_MERGE_LIMIT: Final = 64 * 1024


class EventQueue:
    """Events of one session on their way to its client."""

    def __init__(self) -> None:
        self._events: deque[Outgoing] = deque()
        self._ready = anyio.Event()
        self._room = anyio.Event()
        self._is_closed = False

    def put(self, event: Outgoing) -> None:
        """Queue an event; for a slow reader, deltas of one item become one."""
        if self._is_closed:
            return
        if not (event["method"] in DELTA_METHODS and self._merged(event)):
            self._events.append(event)
        self._ready.set()

    def close(self) -> None:
        """Let the reader finish after what is queued."""
        self._is_closed = True
        self._ready.set()
        self._room.set()

    async def room(self) -> None:
        """Wait while the reader is far behind."""
        while len(self._events) >= _HIGH_WATER and not self._is_closed:
            if self._room.is_set():
                self._room = anyio.Event()
            await self._room.wait()

    async def read(self) -> AsyncIterator[Outgoing]:
        """Yield events in order until the queue is closed and empty."""
        while True:
            while self._events:
                event = self._events.popleft()
                if len(self._events) < _HIGH_WATER // 2:
                    self._room.set()
                yield event
            if self._is_closed:
                return
            self._ready = anyio.Event()
            await self._ready.wait()

    def _merged(self, event: Outgoing) -> bool:
        if len(self._events) < _BEHIND:
            return False
        last = self._events[-1]
        if last["method"] != event["method"]:
            return False
        old, new = last["params"], event["params"]
        if old.get("itemId") != new.get("itemId") or "delta" not in old or "delta" not in new:
            return False
        if old.get("summaryIndex") != new.get("summaryIndex") or len(old["delta"]) > _MERGE_LIMIT:
            return False
        old["delta"] += new["delta"]
        return True


class TwinQueue(EventQueue):
    """Events of a thread that works for another, told twice.

    Whoever opened the thread reads them here, and the root's client in the twin, which alone holds
    the questions.
    """

    def __init__(self) -> None:
        super().__init__()
        self.twin = EventQueue()

    def put(self, event: Outgoing) -> None:
        """Queue an event for both readers; each merges deltas on its own."""
        if "id" not in event:
            super().put(event)
        if event["method"] in DELTA_METHODS:
            event = cast("Outgoing", {**event, "params": {**event["params"]}})
        self.twin.put(event)

    def close(self) -> None:
        """Let both readers finish after what is queued."""
        super().close()
        self.twin.close()

    async def room(self) -> None:
        """Wait while one of the readers is far behind."""
        await super().room()
        await self.twin.room()
