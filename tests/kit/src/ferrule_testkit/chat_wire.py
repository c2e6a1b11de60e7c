"""How a scripted turn looks as a Chat Completions stream."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Final, cast

from ferrule_testkit.model_script import DEFAULT_USAGE, Event, Item, Step, Turn, Wire

_WORDS: Final = re.compile(r"\S+\s*|\s+")
_FRAGMENT: Final = 24
_CUT_SHORT: Final = {"max_output_tokens": "length", "content_filter": "content_filter"}


def steps_of(turn: Turn, number: int) -> Iterator[Step]:
    """Spell a turn out as chunks and pauses."""
    if "events" in turn:
        yield from turn["events"]
        return
    yield _chunk(number, {"role": "assistant", "content": ""})
    if "deltas" in turn:
        deltas = turn["deltas"]
        for _ in range(deltas.get("count", 20_000)):
            yield _chunk(number, {"content": deltas.get("text", "word ")})
    calls = 0
    for item in turn.get("items", []):
        if not isinstance(item, dict):
            yield item
            continue
        if "item_delay" in turn:
            yield turn["item_delay"]
        for delta in _deltas_of(item, calls):
            yield _chunk(number, delta)
            if "content" in delta and "delta_delay" in turn:
                yield turn["delta_delay"]
        calls += "call_id" in item
    if not (turn.get("hang") or turn.get("no_completed")):
        yield from _end(turn, number, has_calls=calls > 0)


def _chunk(number: int, delta: Mapping[str, object], finish_reason: str | None = None) -> Event:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return {**_head(number), "choices": [choice]}


def _head(number: int) -> Event:
    return {"id": f"chatcmpl-{number}", "object": "chat.completion.chunk", "model": "scripted"}


def _deltas_of(item: Item, index: int) -> Iterator[dict[str, object]]:
    if item["type"] == "message":
        parts = cast("list[dict[str, str]]", item["content"])
        for word in _WORDS.findall("".join(part.get("text", "") for part in parts)):
            yield {"content": word}
    elif item["type"] == "reasoning":
        for part in cast("list[dict[str, str]]", item.get("summary", [])):
            yield {"reasoning_content": part["text"]}
    elif "call_id" in item:
        yield from _call_deltas(item, index)


def _call_deltas(item: Item, index: int) -> Iterator[dict[str, object]]:
    is_freeform = item["type"] == "custom_tool_call"
    arguments = json.dumps({"input": item["input"]}) if is_freeform else str(item["arguments"])
    name = f"{item.get('namespace', '')}{item['name']}"
    head = {"index": index, "id": item["call_id"], "type": "function"}
    yield {"tool_calls": [{**head, "function": {"name": name, "arguments": ""}}]}
    for start in range(0, len(arguments), _FRAGMENT):
        fragment = {"arguments": arguments[start : start + _FRAGMENT]}
        yield {"tool_calls": [{"index": index, "function": fragment}]}


def _end(turn: Turn, number: int, *, has_calls: bool) -> Iterator[Step]:
    if "failed" in turn:
        yield {"error": turn["failed"]}
        return
    reason = "tool_calls" if has_calls else "stop"
    if "incomplete" in turn:
        reason = _CUT_SHORT.get(turn["incomplete"], turn["incomplete"])
    yield _chunk(number, {}, reason)
    usage = _usage({**DEFAULT_USAGE, **turn.get("usage", {})})
    yield {**_head(number), "choices": [], "usage": usage}
    yield "data: [DONE]\n\n"


def _usage(usage: Mapping[str, object]) -> Event:
    return {
        "prompt_tokens": usage["input_tokens"],
        "completion_tokens": usage["output_tokens"],
        "total_tokens": usage["total_tokens"],
        "prompt_tokens_details": usage["input_tokens_details"],
        "completion_tokens_details": usage["output_tokens_details"],
    }


def _encoded(event: Event | str) -> bytes:
    if isinstance(event, str):
        return event.encode()
    return f"data: {json.dumps(event)}\n\n".encode()


CHAT: Final = Wire(steps_of, _encoded)
