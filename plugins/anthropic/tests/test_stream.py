"""What the provider makes of an answer that goes well."""

import json

import pytest

from ferrule_hookspecs.provider import Completed, ItemAdded, ItemDone, ReasoningDelta, TextDelta
from ferrule_hookspecs.tools import FreeformSchema, FunctionSchema
from ferrule_testkit.model_items import freeform_call, function_call, message, reasoning

TOOLS = (
    FunctionSchema("run", "Runs.", {"type": "object"}),
    FreeformSchema("apply_patch", "Patches.", "lark", "start: /x/"),
)


def start(index, **block):
    return {"type": "content_block_start", "index": index, "content_block": block}


def delta(index, kind, **more):
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **more}}


def stop(index):
    return {"type": "content_block_stop", "index": index}


def whole(*events, stop_reason="end_turn", usage=None):
    """A message of hand-written events."""
    begun = {"id": "msg_1", "usage": {"input_tokens": 3, "output_tokens": 1}}
    ended = {"delta": {"stop_reason": stop_reason}, "usage": usage or {"output_tokens": 2}}
    return {
        "events": [
            {"type": "message_start", "message": begun},
            *events,
            {"type": "message_delta", **ended},
            {"type": "message_stop"},
        ]
    }


def done(heard):
    return [event.item for event in heard.of(ItemDone)]


def test_text_becomes_a_message_that_is_added_grows_and_is_done(model_server, talk):
    model_server.play([[message("Hello there")]])
    heard = talk()
    item = {"type": "message", "role": "assistant", "id": "msg_1.0"}
    assert heard.events[0] == ItemAdded({**item, "content": []})
    assert "".join(event.delta for event in heard.of(TextDelta)) == "Hello there"
    content = [{"type": "output_text", "text": "Hello there"}]
    assert heard.events[-2] == ItemDone({**item, "content": content})
    assert isinstance(heard.events[-1], Completed)


def test_a_call_is_done_when_its_block_stops_and_not_when_the_message_does(
    model_server, talk, make_request
):
    model_server.play([{"items": [function_call("run", {"cmd": "ls"}), 0.2, message("and more")]}])
    heard = talk(make_request(tools=TOOLS))
    kinds = [type(event).__name__ for event in heard.events]
    assert kinds[0] == "ItemDone"
    assert heard.events[0].item == {
        "type": "function_call",
        "call_id": "call_1",
        "id": "fc_1.0",
        "name": "run",
        "arguments": '{"cmd": "ls"}',
    }


def test_a_call_without_arguments_has_an_empty_object(model_server, talk):
    block = start(0, type="tool_use", id="c", name="run", input={})
    model_server.play([whole(block, delta(0, "input_json_delta", partial_json=""), stop(0))])
    assert done(talk())[0]["arguments"] == "{}"


def test_a_freeform_call_comes_back_as_plain_text(model_server, talk, make_request):
    text = '*** Begin Patch\n+ "quoted" \\ ü\n*** End Patch\n'
    model_server.play([[freeform_call("apply_patch", text)]])
    (item,) = done(talk(make_request(tools=TOOLS)))
    assert item["type"] == "custom_tool_call"
    assert (item["name"], item["input"], item["call_id"]) == ("apply_patch", text, "call_1")


@pytest.mark.parametrize(
    "arguments", ['{"input": "*** Beg', '{"patch": "x"}', '{"input": 3}', "[1]"]
)
def test_a_freeform_call_that_is_malformed_is_left_for_the_kernel_to_refuse(
    model_server, talk, make_request, arguments
):
    block = start(0, type="tool_use", id="c", name="apply_patch", input={})
    piece = delta(0, "input_json_delta", partial_json=arguments)
    model_server.play([whole(block, piece, stop(0), stop_reason="tool_use")])
    (item,) = done(talk(make_request(tools=TOOLS)))
    assert (item["type"], item["arguments"]) == ("function_call", arguments)


def test_thinking_is_shown_and_kept_whole(model_server, talk):
    model_server.play([[reasoning("one two")]])
    heard = talk()
    assert isinstance(heard.events[0], ItemAdded)
    assert "".join(event.delta for event in heard.of(ReasoningDelta)) == "one two"
    assert {event.part for event in heard.of(ReasoningDelta)} == {0}
    (item,) = done(heard)
    assert item["summary"] == [{"type": "summary_text", "text": "one two"}]
    block = json.loads(item["encrypted_content"].partition(":")[2])
    assert block.keys() == {"type", "thinking", "signature"}


def test_a_signature_in_pieces_and_thinking_without_text_are_kept(model_server, talk):
    events = (
        start(0, type="thinking", thinking="", signature=""),
        delta(0, "signature_delta", signature="ab"),
        delta(0, "signature_delta", signature="cd"),
        stop(0),
        start(1, type="redacted_thinking", data="sealed"),
        stop(1),
    )
    model_server.play([whole(*events)])
    items = done(talk())
    assert [item["summary"] for item in items] == [[], []]
    blocks = [json.loads(item["encrypted_content"].partition(":")[2]) for item in items]
    assert blocks == [
        {"type": "thinking", "thinking": "", "signature": "abcd"},
        {"type": "redacted_thinking", "data": "sealed"},
    ]


def test_what_is_not_known_is_passed_over(model_server, talk):
    events = (
        {"type": "ping"},
        ": a comment\n\n",
        "data: not json\n\n",
        {"type": "brand_new_event"},
        start(0, type="server_tool_use", id="s", name="web_search", input={}),
        delta(0, "input_json_delta", partial_json='{"q": 1}'),
        stop(0),
        start(1, type="text", text=""),
        stop(1),
        start(2, type="text", text="kept"),
        delta(2, "citations_delta", citation={}),
        stop(2),
    )
    model_server.play([whole(*events)])
    heard = talk()
    assert heard.error is None
    assert [item["content"][0]["text"] for item in done(heard)] == ["kept"]


def test_usage_counts_the_whole_input(model_server, talk):
    usage = {
        "input_tokens": 1000,
        "input_tokens_details": {"cached_tokens": 600, "cache_write_tokens": 100},
        "output_tokens": 50,
        "output_tokens_details": {"reasoning_tokens": 20},
    }
    model_server.play([{"items": [message("x")], "usage": usage}])
    assert talk().of(Completed)[0].usage == {
        "totalTokens": 1050,
        "inputTokens": 1000,
        "cachedInputTokens": 600,
        "cacheWriteInputTokens": 100,
        "outputTokens": 50,
        "reasoningOutputTokens": 20,
    }


def test_usage_of_the_beginning_stands_where_the_end_is_silent(model_server, talk):
    ended = {"output_tokens": 9, "input_tokens": None}
    model_server.play([whole(start(0, type="text", text="x"), stop(0), usage=ended)])
    usage = talk().of(Completed)[0].usage
    assert (usage["inputTokens"], usage["outputTokens"]) == (3, 9)


@pytest.mark.parametrize(
    ("reason", "end_turn"),
    [("end_turn", None), ("tool_use", None), ("stop_sequence", None), ("pause_turn", False)],
)
def test_a_pause_asks_to_go_on(model_server, talk, reason, end_turn):
    model_server.play([whole(stop_reason=reason)])
    assert talk().of(Completed)[0].end_turn is end_turn


def test_names_the_api_does_not_allow_come_back_as_they_were(model_server, talk, make_request):
    name = "server.tool/ü"
    tool = FunctionSchema(name, "Does.", {"type": "object", "properties": {}})
    model_server.play([[message("x")]])
    talk(make_request(tools=[tool]))
    on_wire = model_server.requests[0].body["tools"][0]["name"]
    model_server.play([[function_call(on_wire, {})]])
    assert done(talk(make_request(tools=[tool])))[0]["name"] == name


def test_deltas_that_arrive_together_are_joined(model_server, talk):
    model_server.play([{"deltas": {"count": 20_000, "text": "ab ", "per_chunk": 50}}])
    heard = talk()
    assert "".join(event.delta for event in heard.of(TextDelta)) == "ab " * 20_000
    assert len(heard.events) < 2_000


def test_events_cut_at_every_byte_are_the_same(make_request):
    from ferrule_anthropic.decoder import MessageDecoder
    from ferrule_anthropic.names import OfferedTools
    from ferrule_testkit.messages_wire import MESSAGES

    turn = {"items": [reasoning("why ü"), message("hi"), function_call("run", {"a": 1})]}
    data = b"".join(MESSAGES.encode(step) for step in MESSAGES.steps(turn, 1))
    at_once, in_bytes = MessageDecoder(OfferedTools([])), MessageDecoder(OfferedTools([]))
    expected = [event for event in at_once.feed(data) if isinstance(event, ItemDone | Completed)]
    events = [event for at in range(len(data)) for event in in_bytes.feed(data[at : at + 1])]
    assert [event for event in events if isinstance(event, ItemDone | Completed)] == expected
    assert in_bytes.is_complete
