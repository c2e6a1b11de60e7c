"""Whatever a history looks like, strict servers accept what it becomes."""

import json
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ferrule_chat.messages import chat_messages
from ferrule_chat.quirks import read_quirks
from ferrule_wire.text_protocol import as_messages

IDS = st.sampled_from(["a", "b", "call_1"])
TEXTS = st.sampled_from(["", "x", "two\nlines"])
PARTS = st.lists(
    st.one_of(
        TEXTS.map(lambda text: {"type": "input_text", "text": text}),
        st.just({"type": "input_image", "image_url": "data:,x"}),
    ),
    max_size=3,
)
ITEMS = st.one_of(
    st.builds(
        lambda role, content: {"type": "message", "role": role, "content": content},
        st.sampled_from(["user", "developer", "system"]),
        PARTS,
    ),
    TEXTS.map(
        lambda text: {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": text}],
        }
    ),
    TEXTS.map(
        lambda text: {
            "type": "reasoning",
            "summary": [],
            "content": [{"type": "reasoning_text", "text": text}],
        }
    ),
    st.builds(
        lambda id_, text: {
            "type": "function_call",
            "call_id": id_,
            "name": "run",
            "arguments": text,
        },
        IDS,
        TEXTS,
    ),
    st.builds(
        lambda id_: {"type": "custom_tool_call", "call_id": id_, "name": "p", "input": ""}, IDS
    ),
    st.builds(
        lambda id_, output: {"type": "function_call_output", "call_id": id_, "output": output},
        IDS,
        st.one_of(TEXTS, PARTS),
    ),
    st.just({"type": "web_search_call"}),
)


@pytest.mark.parametrize("vendor", ["openai", "ollama", "deepseek", "mistral"])
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(history=st.lists(ITEMS, max_size=12))
def test_every_call_is_answered_before_anything_else_is_said(vendor, history):
    quirks = read_quirks({"vendor": vendor}, "https://example.com")
    messages = chat_messages(history, quirks)
    awaited = []
    for message in messages:
        if message["role"] == "tool":
            assert message["tool_call_id"] == awaited.pop(0)
            assert message["content"]
            continue
        assert not awaited
        assert message["content"] or message["role"] == "assistant"
        if message["role"] == "assistant":
            calls = message.get("tool_calls", [])
            assert message["content"] or calls
            assert all(
                isinstance(json.loads(call["function"]["arguments"]), dict) for call in calls
            )
            awaited = [call["id"] for call in calls]
    assert not awaited
    calls = [item for item in history if item["type"] in ("function_call", "custom_tool_call")]
    assert sum(message["role"] == "tool" for message in messages) == len(calls)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(history=st.lists(ITEMS, max_size=12))
def test_instructions_stand_first_and_neighbours_differ(history):
    quirks = read_quirks({}, "https://example.com")
    roles = [message["role"] for message in chat_messages(as_messages(history), quirks)]
    assert "system" not in roles[1:]
    assert all(first != second for first, second in pairwise(roles))
