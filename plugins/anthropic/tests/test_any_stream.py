"""Whatever a server sends, decoding it ends in a message or in a failure, never in a fault."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from ferrule_anthropic.decoder import MessageDecoder
from ferrule_anthropic.names import OfferedTools
from ferrule_hookspecs.provider import Completed, ItemDone
from ferrule_hookspecs.tools import FreeformSchema

TOOLS = OfferedTools([FreeformSchema("apply_patch", "", "lark", "")])

values = st.sampled_from([None, True, -1, 7, "", "x", '{"input": "y"}', [], [1], {}, {"a": {}}])
keys = ["id", "usage", "input_tokens", "text", "thinking", "signature", "data", "name", "input"]
keys += ["partial_json", "stop_reason", "stop_details", "message", "type"]
kinds = ["text", "thinking", "redacted_thinking", "tool_use", "text_delta", "thinking_delta"]
kinds += ["signature_delta", "input_json_delta", "overloaded_error", "invalid_request_error"]
tables = st.dictionaries(st.sampled_from(keys), values, max_size=4)
typed = st.builds(lambda table, kind: {**table, "type": kind}, tables, st.sampled_from(kinds))
names = ["message_start", "content_block_start", "content_block_delta", "content_block_stop"]
names += ["message_delta", "message_stop", "error", "ping", "unheard_of"]
events = st.fixed_dictionaries(
    {"type": st.sampled_from(names)},
    optional={
        "index": values,
        "message": values | tables,
        "content_block": values | typed,
        "delta": values | typed | tables,
        "usage": values | tables,
        "error": values | typed,
    },
)


@settings(max_examples=100, deadline=None)
@given(st.lists(events, max_size=10))
def test_any_events_are_decoded_to_an_end(sequence):
    decoder = MessageDecoder(TOOLS)
    heard = []
    for event in sequence:
        heard += decoder.feed(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
        if decoder.is_complete or decoder.failure:
            break
    else:
        heard += decoder.end()
    assert decoder.is_complete != (decoder.failure is not None)
    assert any(isinstance(each, Completed) for each in heard) == decoder.is_complete
    for each in heard:
        if isinstance(each, ItemDone):
            json.dumps(each.item)
