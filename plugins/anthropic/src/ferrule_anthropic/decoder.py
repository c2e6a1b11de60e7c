"""Turns the bytes of a message stream into the events of the contract.

Blocks come one after the other. Each is an item of its own, and done as soon as it stops: a call
starts while the message goes on.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, cast

from ferrule_anthropic.conversation import item_id
from ferrule_anthropic.failures import stopped_early, stream_failure
from ferrule_anthropic.reasoning import reasoning_item
from ferrule_hookspecs.provider import Completed, ItemAdded, ItemDone, ReasoningDelta, TextDelta
from ferrule_wire.failures import disconnected
from ferrule_wire.sse import BlockSplitter, event_data, event_type

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ferrule_anthropic.names import OfferedTools
    from ferrule_hookspecs.errors import ProviderError
    from ferrule_hookspecs.history import CallItem, HistoryItem
    from ferrule_hookspecs.provider import ModelEvent
    from ferrule_hookspecs.threads import TokenUsage

_PAUSED: Final = "pause_turn"


@dataclass(slots=True)
class _Block:
    """A content block that has begun."""

    started: Mapping[str, object]
    index: int
    pieces: list[str] = field(default_factory=list[str])
    signature: str = ""
    is_shown: bool = False

    @property
    def kind(self) -> str:
        return str(self.started.get("type"))

    @property
    def text(self) -> str:
        return "".join(self.pieces)


class MessageDecoder:
    """Decodes one message.

    Attributes:
        is_complete: The message ended as it should.
        failure: Why it ended otherwise; events that came before it are still handed out.
    """

    def __init__(self, tools: OfferedTools) -> None:
        """Start before the first byte."""
        self.is_complete = False
        self.failure: ProviderError | None = None
        self._tools = tools
        self._splitter = BlockSplitter()
        self._events: list[ModelEvent] = []
        self._message_id = ""
        self._usage: dict[str, object] = {}
        self._stop: Mapping[str, object] = {}
        self._block: _Block | None = None
        self._handlers: dict[bytes, Callable[[Mapping[str, object]], None]] = {
            b"message_start": self._message_start,
            b"content_block_start": self._block_start,
            b"content_block_delta": self._block_delta,
            b"content_block_stop": self._block_stop,
            b"message_delta": self._message_delta,
            b"message_stop": self._message_stop,
            b"error": self._error,
        }

    def feed(self, data: bytes) -> list[ModelEvent]:
        """Decode more bytes; text deltas that stand side by side in them become one."""
        for block in self._splitter.feed(data):
            self._decode(block)
            if self.is_complete or self.failure:
                break
        events, self._events = self._events, []
        return _joined(events)

    def end(self) -> list[ModelEvent]:
        """Take note that the bytes ended."""
        self.failure = disconnected("stream closed before message_stop")
        return []

    def _decode(self, block: bytes) -> None:
        kind = event_type(block)
        if kind is not None and kind not in self._handlers:
            return
        try:
            payload: object = json.loads(event_data(block).decode())
        except ValueError:
            if kind is not None:  # going on would lose a part without a word
                self.failure = disconnected("the server sent an event that is not JSON")
            return
        if isinstance(payload, dict):
            table = cast("Mapping[str, object]", payload)
            handler = self._handlers.get(kind or str(table.get("type")).encode())
            if handler is not None:
                handler(table)

    def _message_start(self, payload: Mapping[str, object]) -> None:
        message = _table(payload.get("message"))
        self._message_id = str(message.get("id") or "")
        self._usage.update(_table(message.get("usage")))

    def _block_start(self, payload: Mapping[str, object]) -> None:
        index = payload.get("index")
        started = _table(payload.get("content_block"))
        self._block = _Block(started, index if isinstance(index, int) else 0)
        if self._block.kind == "thinking":
            self._show(self._block)
        first = started.get("text") or started.get("thinking")
        if isinstance(first, str):
            self._take_text(self._block, first)
        self._block.signature = str(started.get("signature") or "")

    def _block_delta(self, payload: Mapping[str, object]) -> None:
        block, delta = self._block, _table(payload.get("delta"))
        if block is None:
            return
        match delta:
            case {"type": "text_delta", "text": str(text)}:
                self._take_text(block, text)
            case {"type": "thinking_delta", "thinking": str(text)}:
                self._take_text(block, text)
            case {"type": "input_json_delta", "partial_json": str(text)}:
                block.pieces.append(text)
            case {"type": "signature_delta", "signature": str(text)}:
                block.signature += text
            case _:
                return  # citations and what is yet to come

    def _take_text(self, block: _Block, text: str) -> None:
        if not text:
            return
        self._show(block)
        block.pieces.append(text)
        is_thought = block.kind == "thinking"
        self._events.append(ReasoningDelta(text, 0) if is_thought else TextDelta(text))

    def _show(self, block: _Block) -> None:
        """Announce a block when it shows something; an empty text never does."""
        if block.is_shown:
            return
        block.is_shown = True
        if block.kind == "thinking":
            self._events.append(ItemAdded(self._with_id({"type": "reasoning", "summary": []})))
        else:
            item = {"type": "message", "role": "assistant", "content": []}
            self._events.append(ItemAdded(self._with_id(cast("HistoryItem", item))))

    def _block_stop(self, _payload: Mapping[str, object]) -> None:
        block = self._block
        item = self._item(block) if block is not None else None
        if item is not None:
            self._events.append(ItemDone(self._with_id(item)))
        self._block = None

    def _item(self, block: _Block) -> HistoryItem | None:
        match block.kind:
            case "text" if block.is_shown:
                content = [{"type": "output_text", "text": block.text}]
                item = {"type": "message", "role": "assistant", "content": content}
                return cast("HistoryItem", item)
            case "thinking":
                whole = {**block.started, "thinking": block.text, "signature": block.signature}
                return reasoning_item(whole)
            case "redacted_thinking":
                return reasoning_item(block.started)
            case "tool_use":
                return self._call(block)
            case _:
                return None

    def _call(self, block: _Block) -> CallItem:
        name = str(block.started.get("name"))
        call_id = str(block.started.get("id"))
        arguments = block.text or json.dumps(block.started.get("input") or {})
        if self._tools.is_freeform(name):
            text = _freeform_input(arguments)
            if text is not None:
                name = self._tools.name(name)
                return {"type": "custom_tool_call", "call_id": call_id, "name": name, "input": text}
        # What was cut off or is malformed goes on as it is: the kernel refuses it in words.
        return {
            "type": "function_call",
            "call_id": call_id,
            "name": self._tools.name(name),
            "arguments": arguments,
        }

    def _with_id(self, item: HistoryItem) -> HistoryItem:
        if self._message_id and self._block is not None:
            prefix = _ID_PREFIXES[item["type"]]
            item["id"] = item_id(prefix, self._message_id, self._block.index)  # pyright: ignore[reportGeneralTypeIssues]
        return item

    def _message_delta(self, payload: Mapping[str, object]) -> None:
        told = _table(payload.get("usage")).items()
        self._usage.update({key: value for key, value in told if value is not None})
        delta = _table(payload.get("delta"))
        if delta.get("stop_reason"):
            self._stop = delta

    def _message_stop(self, _payload: Mapping[str, object]) -> None:
        reason = str(self._stop.get("stop_reason"))
        self.failure = stopped_early(reason, _table(self._stop.get("stop_details")))
        if self.failure is None:
            end_turn = False if reason == _PAUSED else None
            self._events.append(Completed(self._message_id, _usage(self._usage), end_turn))
            self.is_complete = True

    def _error(self, payload: Mapping[str, object]) -> None:
        self.failure = stream_failure(_table(payload.get("error")))


_ID_PREFIXES: Final = {
    "message": "msg",
    "reasoning": "rs",
    "function_call": "fc",
    "custom_tool_call": "ctc",
}


def _joined(events: list[ModelEvent]) -> list[ModelEvent]:
    """Make one delta of those that follow each other."""
    joined: list[ModelEvent] = []
    run: list[str] = []
    for event in events:
        if isinstance(event, TextDelta):
            run.append(event.delta)
            continue
        if run:
            joined.append(TextDelta("".join(run)))
            run.clear()
        joined.append(event)
    if run:
        joined.append(TextDelta("".join(run)))
    return joined


def _table(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, dict) else {}


def _freeform_input(arguments: str) -> str | None:
    try:
        value: object = json.loads(arguments)
    except ValueError:
        return None
    text = _table(value).get("input")
    return text if isinstance(text, str) else None


def _usage(usage: Mapping[str, object]) -> TokenUsage | None:
    """Count the input as a whole: the API leaves out what it read from and wrote to its cache."""
    if not usage:
        return None
    cached, written = (_count(usage, f"cache_{kind}_input_tokens") for kind in ("read", "creation"))
    read = _count(usage, "input_tokens") + cached + written
    output = _count(usage, "output_tokens")
    return {
        "totalTokens": read + output,
        "inputTokens": read,
        "cachedInputTokens": cached,
        "cacheWriteInputTokens": written,
        "outputTokens": output,
        "reasoningOutputTokens": _count(
            _table(usage.get("output_tokens_details")), "thinking_tokens"
        ),
    }


def _count(table: Mapping[str, object], key: str) -> int:
    value = table.get(key)
    return value if isinstance(value, int) else 0
