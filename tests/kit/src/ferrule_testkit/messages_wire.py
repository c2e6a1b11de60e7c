"""How a scripted turn looks as a stream of the Messages API.

Reasoning becomes a thinking block whose signature seals its text, as the real API's does. An item
of type `redacted_thinking` is sent as it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Final, cast

from ferrule_testkit.messages_rules import broken_rule, seal
from ferrule_testkit.model_script import DEFAULT_USAGE, Event, Item, Step, Turn, Wire, wire_of

_WORDS: Final = re.compile(r"\S+\s*|\s+")
_FRAGMENT: Final = 24
_STOP_REASONS: Final = {"max_output_tokens": "max_tokens", "content_filter": "refusal"}
_ERROR_TYPES: Final = {
    "rate_limit_exceeded": "rate_limit_error",
    "server_is_overloaded": "overloaded_error",
}


def steps_of(turn: Turn, number: int) -> Iterator[Step]:
    """Spell a turn out as events and pauses."""
    if "events" in turn:
        yield from turn["events"]
        return
    usage = _usage({**DEFAULT_USAGE, **turn.get("usage", {})})
    yield _start(number, usage)
    yield {"type": "ping"}
    index = 0
    if "deltas" in turn:
        deltas = turn["deltas"]
        pieces = [deltas.get("text", "word ")] * deltas.get("count", 20_000)
        yield from _text_block(pieces, index, None)
        index += 1
    has_calls = False
    for item in turn.get("items", []):
        if not isinstance(item, dict):
            yield item
            continue
        if "item_delay" in turn:
            yield turn["item_delay"]
        yield from _block_steps(item, index, turn.get("delta_delay"))
        has_calls = has_calls or "call_id" in item
        index += 1
    if not (turn.get("hang") or turn.get("no_completed")):
        yield from _end(turn, usage, has_calls=has_calls)


def _start(number: int, usage: Mapping[str, object]) -> Event:
    message: Event = {"id": f"msg_{number}", "type": "message", "role": "assistant"}
    message |= {"model": "scripted", "content": [], "stop_reason": None, "stop_sequence": None}
    return {"type": "message_start", "message": {**message, "usage": {**usage, "output_tokens": 1}}}


def _block_steps(item: Item, index: int, pause: float | None) -> Iterator[Step]:
    if item["type"] == "message":
        parts = cast("list[dict[str, str]]", item["content"])
        words = _WORDS.findall("".join(part.get("text", "") for part in parts))
        yield from _text_block(words, index, pause)
    elif item["type"] == "reasoning":
        summary = cast("list[dict[str, str]]", item.get("summary", []))
        yield from _thinking_block("\n\n".join(part["text"] for part in summary), index)
    elif "call_id" in item:
        yield from _tool_block(item, index)
    else:
        yield from _block(item, [], index)


def _text_block(pieces: list[str], index: int, pause: float | None) -> Iterator[Step]:
    deltas: list[Step] = []
    for piece in pieces:
        deltas.append({"type": "text_delta", "text": piece})
        if pause:
            deltas.append(pause)
    yield from _block({"type": "text", "text": ""}, deltas, index)


def _thinking_block(text: str, index: int) -> Iterator[Step]:
    deltas: list[Step] = [
        {"type": "thinking_delta", "thinking": word} for word in _WORDS.findall(text)
    ]
    deltas.append({"type": "signature_delta", "signature": seal(text)})
    yield from _block({"type": "thinking", "thinking": "", "signature": ""}, deltas, index)


def _tool_block(item: Item, index: int) -> Iterator[Step]:
    is_freeform = item["type"] == "custom_tool_call"
    arguments = json.dumps({"input": item["input"]}) if is_freeform else str(item["arguments"])
    name = f"{item.get('namespace', '')}{item['name']}"
    fragments = [arguments[at : at + _FRAGMENT] for at in range(0, len(arguments), _FRAGMENT)]
    deltas: list[Step] = [
        {"type": "input_json_delta", "partial_json": fragment} for fragment in ("", *fragments)
    ]
    started: Event = {"type": "tool_use", "id": item["call_id"], "name": name, "input": {}}
    yield from _block(started, deltas, index)


def _block(started: Mapping[str, object], deltas: list[Step], index: int) -> Iterator[Step]:
    yield {"type": "content_block_start", "index": index, "content_block": started}
    for delta in deltas:
        if isinstance(delta, dict):
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        else:
            yield delta
    yield {"type": "content_block_stop", "index": index}


def _end(turn: Turn, usage: Mapping[str, object], *, has_calls: bool) -> Iterator[Event]:
    if "failed" in turn:
        code = str(turn["failed"].get("type") or turn["failed"].get("code"))
        error = {"message": turn["failed"].get("message"), "type": _ERROR_TYPES.get(code, code)}
        yield {"type": "error", "error": error}
        return
    reason = "tool_use" if has_calls else "end_turn"
    if turn.get("end_turn") is False:
        reason = "pause_turn"
    if "incomplete" in turn:
        reason = _STOP_REASONS.get(turn["incomplete"], turn["incomplete"])
    delta = {"stop_reason": reason, "stop_sequence": None}
    yield {"type": "message_delta", "delta": delta, "usage": usage}
    yield {"type": "message_stop"}


def _usage(usage: Mapping[str, object]) -> dict[str, object]:
    """Count as the Messages API does: what was cached stands beside the input, not in it."""
    details = cast("Mapping[str, int]", usage["input_tokens_details"])
    read, written = details.get("cached_tokens", 0), details.get("cache_write_tokens", 0)
    thinking = cast("Mapping[str, int]", usage["output_tokens_details"])["reasoning_tokens"]
    return {
        "input_tokens": cast("int", usage["input_tokens"]) - read - written,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": written,
        "output_tokens": usage["output_tokens"],
        "output_tokens_details": {"thinking_tokens": thinking},
    }


MESSAGES: Final = Wire(steps_of, wire_of, broken_rule)
