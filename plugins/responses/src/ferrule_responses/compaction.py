"""Asks the server itself to shorten a history: `/responses/compact`, whose answer is one JSON text.

Imported by the transport when a compactor asks for it, and else never.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, cast

from ferrule_hookspecs.errors import ProviderError
from ferrule_hookspecs.provider import Completed, ItemDone
from ferrule_responses.body import encode, request_fields
from ferrule_responses.decoder import usage_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ferrule_hookspecs.history import HistoryItem
    from ferrule_hookspecs.provider import ModelEvent, ModelRequest

_SENT = ("model", "input", "prompt_cache_key", "service_tier")
"""All that the server takes there: neither tools nor what shapes an answer."""


def encode_compaction(request: ModelRequest) -> bytes:
    """Serialise a request for a shorter history."""
    fields = request_fields(request)
    return encode({name: fields[name] for name in _SENT if name in fields})


class CompactionDecoder:
    """Decodes the answer; an event for every item of the shorter history.

    Attributes:
        is_complete: The answer was read to its end.
        failure: Why it is of no use.
    """

    def __init__(self) -> None:
        """Start before the first byte."""
        self.is_complete = False
        self.failure: ProviderError | None = None
        self._data = bytearray()

    def feed(self, data: bytes) -> list[ModelEvent]:
        """Keep more bytes; nothing is complete before the last."""
        self._data += data
        return []

    def end(self) -> list[ModelEvent]:
        """Decode the whole."""
        try:
            answer: object = json.loads(self._data)
        except ValueError:
            answer = None
        table = cast("Mapping[str, object]", answer) if isinstance(answer, dict) else {}
        output = table.get("output")
        if not isinstance(output, list):
            self.failure = ProviderError("the server's answer holds no shorter history")
            return []
        self.is_complete = True
        items = (each for each in cast("list[object]", output) if isinstance(each, dict))
        done: list[ModelEvent] = [
            ItemDone(cast("HistoryItem", item)) for item in items if "type" in item
        ]
        return [*done, Completed(str(table.get("id") or ""), usage_of(table.get("usage")))]
