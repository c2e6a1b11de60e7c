"""Model events for the provider to answer."""

from __future__ import annotations

from ferrule_hookspecs.provider import Completed, ItemAdded, ItemDone, TextDelta

USAGE = {
    "totalTokens": 110,
    "inputTokens": 100,
    "cachedInputTokens": 50,
    "cacheWriteInputTokens": 0,
    "outputTokens": 10,
    "reasoningOutputTokens": 0,
}


def say(text, id_="m1"):
    part = {"type": "output_text", "text": text}
    item = {"type": "message", "id": id_, "role": "assistant", "content": [part]}
    return [ItemAdded({**item, "content": []}), TextDelta(text), ItemDone(item)]


def call(name, arguments="{}", id_="c1"):
    return ItemDone({"type": "function_call", "call_id": id_, "name": name, "arguments": arguments})


DONE = Completed("r", USAGE)
