"""Whatever the history, the request is one that a strict server takes, and it only ever grows."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from ferrule_anthropic.body import encode_request
from ferrule_anthropic.conversation import item_id, prompt_of
from ferrule_anthropic.reasoning import reasoning_item
from ferrule_anthropic.settings import MessagesSettings
from ferrule_hookspecs.provider import ModelRequest
from ferrule_hookspecs.tools import FreeformSchema, FunctionSchema
from ferrule_testkit.messages_rules import broken_rule, seal

TOOLS = (
    FunctionSchema("run it!", "", {}),
    FunctionSchema("x" * 200, "Long.", {"type": "object"}),
    FreeformSchema("apply_patch", "Patches.", "regex", ".*"),
)
URLS = ("data:image/png;base64,AAAA", "data:image/tiff;base64,AA", "https://a.b/c", "file:///x", "")

texts = st.text(max_size=8)
call_ids = st.sampled_from(["a", "b", "c|d", "c/d", "", "é"])
outputs = ("function_call_output", "custom_tool_call_output")
ids = st.one_of(
    st.none(),
    st.text(max_size=5),
    st.builds(item_id, st.just("x"), st.sampled_from(["msg_1", "msg_2"]), st.integers(0, 3)),
)
parts = st.one_of(
    st.builds(lambda text: {"type": "input_text", "text": text}, texts),
    st.builds(lambda url: {"type": "input_image", "image_url": url}, st.sampled_from(URLS)),
    st.builds(lambda text: {"type": "refusal", "refusal": text}, texts),
)
contents = st.lists(parts, max_size=3)


def with_id(item, id_):
    return {**item, "id": id_} if id_ is not None else item


def thinking(text):
    return reasoning_item({"type": "thinking", "thinking": text, "signature": seal(text)})


items = st.builds(
    with_id,
    st.one_of(
        st.fixed_dictionaries(
            {
                "type": st.just("message"),
                "role": st.sampled_from(["user", "assistant", "developer", "system"]),
                "content": contents,
            }
        ),
        st.builds(thinking, texts),
        st.just(reasoning_item({"type": "redacted_thinking", "data": "QUJD"})),
        st.just({"type": "reasoning", "summary": [], "encrypted_content": "of another API"}),
        st.just({"type": "reasoning", "summary": []}),
        st.fixed_dictionaries(
            {
                "type": st.just("function_call"),
                "call_id": call_ids,
                "name": st.one_of(texts, st.just("y" * 300)),
                "arguments": st.one_of(
                    texts, st.sampled_from(["{}", '{"a":1}', "[1]", '{"a":NaN}', '{"a":1e999}'])
                ),
            }
        ),
        st.fixed_dictionaries(
            {
                "type": st.just("custom_tool_call"),
                "call_id": call_ids,
                "name": st.just("apply_patch"),
                "input": texts,
            }
        ),
        st.fixed_dictionaries(
            {
                "type": st.sampled_from(outputs),
                "call_id": call_ids,
                "output": st.one_of(texts, contents),
            }
        ),
        st.just({"type": "web_search_call", "action": {"query": "x"}}),
    ),
    ids,
)
histories = st.lists(items, max_size=12)


@settings(max_examples=150, deadline=None)
@given(
    history=histories,
    model=st.sampled_from(["claude-sonnet-4-5", "claude-opus-5", "other"]),
    effort=st.sampled_from([None, "none", "low", "max"]),
    with_tools=st.booleans(),
    parallel=st.booleans(),
)
def test_any_history_makes_a_request_the_server_takes(history, model, effort, with_tools, parallel):
    request = ModelRequest(
        "thread",
        "turn",
        model,
        history,
        TOOLS if with_tools else (),
        reasoning_effort=effort,
        parallel_tool_calls=parallel,
    )
    encoded = encode_request(request, MessagesSettings())
    assert broken_rule(encoded.body, encoded.headers) is None, json.loads(encoded.body)


@settings(max_examples=150, deadline=None)
@given(history=histories, said=texts.filter(str.strip), more=st.lists(items, max_size=4))
def test_what_was_sent_before_an_answer_stays_as_it_was(history, said, more):
    """Caches and signed thinking rest on this; `more` is what comes after a complete answer."""
    history = answered(history)
    asked = prompt_of(history)
    answer = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": said}],
        "id": item_id("msg", "msg_new", 0),
    }
    later = prompt_of([*history, answer, *after(more)])
    assert later.system == asked.system
    assert later.messages[: len(asked.messages)] == asked.messages


def answered(history):
    """A history as the kernel asks with: every call has its output, every output its call."""
    calls = [item for item in history if item["type"].endswith("tool_call")]
    calls += [item for item in history if item["type"] == "function_call"]
    kept = [item for item in history if item["type"] not in outputs]
    given = [{"type": outputs[0], "call_id": call["call_id"], "output": "done"} for call in calls]
    return [*kept, *given, {"type": "message", "role": "user", "content": [USER]}]


USER = {"type": "input_text", "text": "go"}


def after(items_):
    """What may follow an answer: nothing of it belongs to calls that were made before."""
    return [item for item in items_ if item["type"] not in outputs]
