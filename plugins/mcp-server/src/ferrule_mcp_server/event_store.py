"""What one session was sent over HTTP, for a client that comes back; bounded in number and size."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final, NamedTuple

from mcp.server.streamable_http import EventMessage, EventStore

if TYPE_CHECKING:
    from mcp.server.streamable_http import EventCallback, EventId, StreamId
    from mcp_types import JSONRPCMessage

_MOST: Final = 1024
_MOST_BYTES: Final = 4 * 1024 * 1024


class _Kept(NamedTuple):
    number: int
    stream: StreamId
    message: JSONRPCMessage | None
    size: int


class RecentEvents(EventStore):
    """Keeps the newest events; a client that was away for longer begins anew.

    It belongs to one session: streams are named by requests' ids, which other sessions have too.
    """

    def __init__(self) -> None:
        self._events: deque[_Kept] = deque()
        self._next = 0
        self._bytes = 0

    async def store_event(self, stream_id: StreamId, message: JSONRPCMessage | None) -> EventId:
        """Keep an event, and give up the oldest ones for it."""
        size = 0 if message is None else len(message.model_dump_json())
        kept = _Kept(self._next, stream_id, message, size)
        self._next += 1
        self._events.append(kept)
        self._bytes += size
        while len(self._events) > _MOST or (self._bytes > _MOST_BYTES and len(self._events) > 1):
            self._bytes -= self._events.popleft().size
        return str(kept.number)

    async def replay_events_after(
        self, last_event_id: EventId, send_callback: EventCallback
    ) -> StreamId | None:
        """Send what followed an event in its stream; None where it is not kept any more."""
        seen = next((kept for kept in self._events if str(kept.number) == last_event_id), None)
        if seen is None:
            return None
        for kept in list(self._events):
            if kept.stream == seen.stream and kept.number > seen.number and kept.message:
                await send_callback(EventMessage(kept.message, str(kept.number)))
        return seen.stream
