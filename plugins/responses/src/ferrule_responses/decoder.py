"""Turns the bytes of a response stream into the events of the contract.

Only the types the kernel can use are parsed; every other event costs no more than being split off.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, cast

from ferrule_hookspecs.errors import ProviderError
from ferrule_hookspecs.provider import Completed, ItemAdded, ItemDone, ReasoningDelta, TextDelta
from ferrule_responses.freeform import as_freeform
from ferrule_wire.failures import (
    NOT_COMPLETED,
    disconnected,
    incomplete_response,
    response_failure,
)
from ferrule_wire.sse import BlockSplitter, event_data, event_type

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from ferrule_hookspecs.history import HistoryItem
    from ferrule_hookspecs.provider import ModelEvent
    from ferrule_hookspecs.threads import TokenUsage

_TEXT_DELTA: Final = b"response.output_text.delta"
_CROWD: Final = 2


class ResponseDecoder:
    """Decodes one response.

    Attributes:
        is_complete: The response ended as it should.
        failure: Why it ended otherwise; events that came before it are still handed out.
    """

    def __init__(self, disguised_tools: Collection[str] = ()) -> None:
        """Start before the first byte; these functions are freeform tools in truth."""
        self._disguised_tools = disguised_tools
        self.is_complete = False
        self.failure: ProviderError | None = None
        self._splitter = BlockSplitter()
        self._events: list[ModelEvent] = []
        self._text: list[str] = []

    def feed(self, data: bytes) -> list[ModelEvent]:
        """Decode more bytes; a crowd of text deltas that stand side by side in them becomes one."""
        for block in self._splitter.feed(data):
            self._decode(block)
            if self.is_complete or self.failure:
                break
        return self._taken()

    def take(self, payload: Mapping[str, object]) -> list[ModelEvent]:
        """Decode one event that came as a message of its own."""
        self._handle(str(payload.get("type")).encode(), payload)
        return self._taken()

    def end(self) -> list[ModelEvent]:
        """Take note that no more bytes come."""
        self.failure = self.failure or disconnected(NOT_COMPLETED)
        return []

    def _decode(self, block: bytes) -> None:
        kind = event_type(block)
        if kind is not None and kind != _TEXT_DELTA and kind not in _HANDLERS:
            return
        try:
            payload: object = json.loads(event_data(block).decode())  # faster than from bytes
        except ValueError:
            if kind is not None:  # going on would lose an item without a word
                self.failure = disconnected("the server sent an event that is not JSON")
            return
        if isinstance(payload, dict):
            table = cast("Mapping[str, object]", payload)
            self._handle(kind or str(table.get("type")).encode(), table)

    def _handle(self, kind: bytes, payload: Mapping[str, object]) -> None:
        if kind == _TEXT_DELTA:
            delta = payload.get("delta")
            if isinstance(delta, str):
                self._text.append(delta)
            return
        handler = _HANDLERS.get(kind)
        result = handler(payload) if handler else None
        if result is None:
            return
        if isinstance(result, ProviderError):
            self.failure = result
            return
        self._flush_text()
        if self._disguised_tools and isinstance(result, ItemAdded | ItemDone):
            result = result._replace(item=as_freeform(result.item, self._disguised_tools))
        self._events.append(result)
        self.is_complete = isinstance(result, Completed)

    def _taken(self) -> list[ModelEvent]:
        self._flush_text()
        events, self._events = self._events, []
        return events

    def _flush_text(self) -> None:
        if len(self._text) > _CROWD:  # clients see whole sentences rather than each piece too late
            self._text[:] = ["".join(self._text)]
        self._events += [TextDelta(text) for text in self._text]
        self._text.clear()


def _table(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, dict) else {}


def _item(payload: Mapping[str, object]) -> HistoryItem | None:
    item = _table(payload.get("item"))
    return cast("HistoryItem", item) if isinstance(item.get("type"), str) else None


def _item_added(payload: Mapping[str, object]) -> ItemAdded | None:
    item = _item(payload)
    return ItemAdded(item) if item is not None else None


def _item_done(payload: Mapping[str, object]) -> ItemDone | None:
    item = _item(payload)
    return ItemDone(item) if item is not None else None


def _summary_delta(payload: Mapping[str, object]) -> ReasoningDelta | None:
    delta, index = payload.get("delta"), payload.get("summary_index")
    if not isinstance(delta, str):
        return None
    return ReasoningDelta(delta, index if isinstance(index, int) else 0)


def _reasoning_delta(payload: Mapping[str, object]) -> ReasoningDelta | None:
    delta = payload.get("delta")
    return ReasoningDelta(delta, None) if isinstance(delta, str) else None


def _completed(payload: Mapping[str, object]) -> Completed:
    response = _table(payload.get("response"))
    end_turn = response.get("end_turn")
    return Completed(
        response_id=str(response.get("id") or ""),
        usage=usage_of(response.get("usage")),
        end_turn=end_turn if isinstance(end_turn, bool) else None,
    )


def usage_of(value: object) -> TokenUsage | None:
    """Translate the server's counts; None where there are none."""
    if not isinstance(value, dict):
        return None
    usage = _table(value)
    read, written = _count(usage, "input_tokens"), _count(usage, "output_tokens")
    input_details = _table(usage.get("input_tokens_details"))
    return {
        "totalTokens": _count(usage, "total_tokens") or read + written,
        "inputTokens": read,
        "cachedInputTokens": _count(input_details, "cached_tokens"),
        "cacheWriteInputTokens": _count(input_details, "cache_write_tokens"),
        "outputTokens": written,
        "reasoningOutputTokens": _count(
            _table(usage.get("output_tokens_details")), "reasoning_tokens"
        ),
    }


def _count(table: Mapping[str, object], key: str) -> int:
    value = table.get(key)
    return value if isinstance(value, int) else 0


def _failed(payload: Mapping[str, object]) -> ProviderError:
    response = _table(payload.get("response"))
    return response_failure(_table(response.get("error")))


def _incomplete(payload: Mapping[str, object]) -> ProviderError:
    details = _table(_table(payload.get("response")).get("incomplete_details"))
    return incomplete_response(str(details.get("reason") or "unknown"))


def _error(payload: Mapping[str, object]) -> ProviderError:
    return response_failure(_table(payload.get("error")) or payload)


_HANDLERS: Final[dict[bytes, Callable[[Mapping[str, object]], ModelEvent | ProviderError | None]]]
_HANDLERS = {
    b"response.output_item.added": _item_added,
    b"response.output_item.done": _item_done,
    b"response.reasoning_summary_text.delta": _summary_delta,
    b"response.reasoning_text.delta": _reasoning_delta,
    b"response.completed": _completed,
    b"response.failed": _failed,
    b"response.incomplete": _incomplete,
    b"error": _error,
}
