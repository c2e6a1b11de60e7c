"""What the provider makes of streams as vendors really send them."""

import json

import pytest

from ferrule_hookspecs.provider import Completed, ItemAdded, ItemDone, ReasoningDelta, TextDelta
from ferrule_hookspecs.tools import FreeformSchema, FunctionSchema
from ferrule_testkit.model_items import function_call, message, reasoning

RUN = FunctionSchema("run", "Runs.", {"type": "object"})
PATCH = FreeformSchema("apply_patch", "Patches.", "lark", "start: x")
DONE = "data: [DONE]\n\n"


def chunk(finish=None, usage=None, **delta):
    made = {"id": "c-1", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
    return made | ({"usage": usage} if usage else {})


def part(index=None, id_=None, name=None, arguments=None, **extra):
    function = {"name": name, "arguments": arguments}
    made = {"index": index, "id": id_, "type": "function"}
    made["function"] = {key: value for key, value in function.items() if value is not None}
    return {key: value for key, value in made.items() if value is not None} | extra


def calls_chunk(*parts, finish=None):
    return chunk(finish, tool_calls=list(parts))


@pytest.fixture
def hear(model_server, talk, make_request):
    """Play raw chunks; what the provider makes of them."""

    def run(*events, quirks=None, tools=(RUN, PATCH), **settings):
        model_server.play([{"events": list(events)}])
        return talk(make_request(tools=tools), quirks=quirks, stream_max_retries=0, **settings)

    return run


def calls_of(heard):
    return [
        (item["call_id"], item["name"], item.get("arguments", item.get("input")))
        for item in heard.items
        if "call_id" in item
    ]


def test_an_answer_becomes_events_that_end_with_completed(model_server, talk):
    model_server.play([[reasoning("hm ", "so"), message("Hello there")]])
    heard = talk()
    kinds = [type(event) for event in heard.events]
    assert [kind for kind in kinds if kind not in (TextDelta, ReasoningDelta)] == [
        ItemAdded, ItemDone, ItemAdded, ItemDone, Completed,
    ]  # fmt: skip
    assert (heard.reasoning, heard.text) == ("hm so", "Hello there")
    assert heard.of(ReasoningDelta)[0].part is None
    thought, answer = heard.items
    assert thought["content"] == [{"type": "reasoning_text", "text": "hm so"}]
    assert answer["content"] == [{"type": "output_text", "text": "Hello there"}]
    assert heard.events[-1].response_id == "chatcmpl-1"


def test_a_call_is_handed_out_when_the_next_one_begins(hear):
    heard = hear(
        calls_chunk(part(0, "a", "run", "")),
        calls_chunk(part(0, None, None, '{"x":')),
        calls_chunk(part(0, None, None, " 1}")),
        calls_chunk(part(1, "b", "run", "")),
        {"error": {"message": "gone"}},
    )
    assert calls_of(heard) == [("a", "run", '{"x": 1}')]
    assert heard.error.kind == "responseStreamDisconnected"


@pytest.mark.parametrize(
    "chunks",
    [
        [
            calls_chunk(part(0, "a", "run", '{"n":')),
            calls_chunk(part(0, None, None, "1}")),
            calls_chunk(part(1, "b", "run", '{"n":2}')),
        ],
        [calls_chunk(part(0, "a", "run", '{"n":1}'), part(1, "b", "run", '{"n":2}'))],
        [
            calls_chunk(part(0, "a", "run", '{"n":1}')),
            calls_chunk(part(0, "b", "run", '{"n":2}')),
        ],
        [
            calls_chunk(part(None, "a", "run", '{"n":1}')),
            calls_chunk(part(None, "b", "run", '{"n":2}')),
        ],
        [
            calls_chunk(part(None, "a", "run", '{"n":')),
            calls_chunk(part(None, None, None, "1}")),
            calls_chunk(part(None, "b", "run", '{"n":2}')),
        ],
        [
            calls_chunk(part(0, "a", "run", '{"n":')),
            calls_chunk(part(0, "a", "run", "1}")),
            calls_chunk(part(1, "b", "run", '{"n":')),
            calls_chunk(part(1, "b", "run", "2}")),
        ],
        [
            calls_chunk(part(0, "a", "run", '{"n":')),
            calls_chunk(part(1, "b", "run", '{"n":')),
            calls_chunk(part(0, None, None, "1}")),
            calls_chunk(part(1, None, None, "2}")),
        ],
        [
            calls_chunk(part(0, "a", "run", {"n": 1})),
            calls_chunk(part(1, "b", "run", {"n": 2})),
        ],
    ],
    ids=[
        "fragments by index", "both in one chunk", "all numbered 0", "no index",
        "no index, in fragments", "id and name repeated", "interleaved", "arguments as an object",
    ],
)  # fmt: skip
def test_two_calls_come_out_in_order_however_they_are_sent(hear, chunks):
    heard = hear(*chunks, chunk("tool_calls"), DONE)
    assert heard.error is None
    assert [(id_, name, json.loads(text)) for id_, name, text in calls_of(heard)] == [
        ("a", "run", {"n": 1}),
        ("b", "run", {"n": 2}),
    ]


def test_calls_without_ids_get_some_of_their_own(hear):
    heard = hear(
        calls_chunk(part(0, None, "run", '{"n":1}')),
        calls_chunk(part(0, None, "run", '{"n":2}')),
        chunk("stop"),
        DONE,
    )
    ids = [call_id for call_id, *_ in calls_of(heard)]
    assert len(set(ids)) == 2
    assert all(ids)


def test_the_same_id_twice_is_told_apart(hear):
    heard = hear(
        calls_chunk(part(0, "a", "run", "{}")),
        calls_chunk(part(1, "a", "run", "{}")),
        chunk("tool_calls"),
        DONE,
    )
    assert [call_id for call_id, *_ in calls_of(heard)] == ["a", "a_2"]


def test_a_call_without_arguments_has_an_empty_object(hear):
    heard = hear(calls_chunk(part(0, "a", "run")), chunk("tool_calls"), DONE)
    assert calls_of(heard) == [("a", "run", "{}")]


@pytest.mark.parametrize(
    "arguments",
    ['{"input": "*** x"}', '{"patch": "*** x"}', '"*** x"', "*** x"],
    ids=["as told", "another key", "a JSON text", "no JSON"],
)
def test_a_plain_text_tool_gets_its_text(hear, arguments):
    heard = hear(calls_chunk(part(0, "a", "apply_patch", arguments)), chunk("tool_calls"), DONE)
    assert heard.items[0]["type"] == "custom_tool_call"
    assert calls_of(heard) == [("a", "apply_patch", "*** x")]


def test_names_the_api_would_refuse_come_back_as_they_were(model_server, talk, make_request):
    names = ["mcp.files/read", "mcp_files_read", "é" * 70, "e" * 70]
    tools = [FunctionSchema(name, "", {"type": "object"}) for name in names]
    model_server.play([[message("x")]])
    talk(make_request(tools=tools))
    body = model_server.requests[0].body
    written = [tool["function"]["name"] for tool in body["tools"]]
    assert len(set(written)) == 4
    assert all(name.isascii() and len(name) <= 64 for name in written)
    items = [function_call(name, {}, call_id=name) for name in written]
    model_server.play([items])
    assert [item["name"] for item in talk(make_request(tools=tools)).items] == names


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning", "thinking"])
def test_reasoning_is_found_in_the_fields_vendors_use(hear, field):
    heard = hear(chunk(**{field: "hm"}), chunk(content="yes"), chunk("stop"), DONE)
    assert (heard.reasoning, heard.text) == ("hm", "yes")


def test_reasoning_in_two_fields_at_once_counts_once(hear):
    both = chunk(reasoning_content="hm", reasoning="hm")
    assert hear(both, chunk("stop"), DONE).reasoning == "hm"


@pytest.mark.parametrize("size", [1, 3, 100], ids=["letters", "pieces", "whole"])
@pytest.mark.parametrize(
    ("mode", "text", "expected"),
    [
        ("leading", "\n<think>\nhm </thin </think>\n\nyes", ("hm </thin ", "yes")),
        ("leading", "<thinking>hm</thinking>yes", ("hm", "yes")),
        ("leading", "a <think> b", ("", "a <think> b")),
        ("leading", "<the end>", ("", "<the end>")),
        ("leading", "<think>never closed", ("never closed", "")),
        ("leading", "<thi", ("", "<thi")),
        ("open", "hm</think>yes", ("hm", "yes")),
        ("off", "<think>hm</think>yes", ("", "<think>hm</think>yes")),
    ],
)
def test_reasoning_between_tags_is_parted_from_the_answer(hear, mode, text, expected, size):
    chunks = [chunk(content=text[start : start + size]) for start in range(0, len(text), size)]
    heard = hear(*chunks, chunk("stop"), DONE, quirks={"think_tags": mode})
    assert (heard.reasoning, heard.text) == expected


def test_content_that_comes_as_a_list_is_understood(hear):
    thinking = [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]
    heard = hear(
        chunk(content=thinking),
        chunk(content=[{"type": "text", "text": "yes"}]),
        chunk("stop"),
    )
    assert (heard.reasoning, heard.text) == ("hm", "yes")


def test_blanks_before_a_call_make_no_message(hear):
    heard = hear(
        chunk(role="assistant", content=""),
        chunk(content="\n\n"),
        calls_chunk(part(0, "a", "run", "{}")),
        chunk("tool_calls"),
        DONE,
    )
    assert [item["type"] for item in heard.items] == ["function_call"]


def test_text_and_calls_keep_their_order(hear):
    heard = hear(
        chunk(content="first "),
        calls_chunk(part(0, "a", "run", "{}")),
        chunk(content="then"),
        chunk("tool_calls"),
        DONE,
    )
    assert [item["type"] for item in heard.items] == ["message", "function_call", "message"]


def test_keep_alives_and_odd_chunks_are_passed_over(hear):
    heard = hear(
        ": OPENROUTER PROCESSING\n\n",
        "event: ping\n\n",
        {"id": "c-1", "choices": []},
        {"id": "c-1", "choices": [{"index": 0}], "obfuscation": "xx"},
        chunk(content="yes"),
        chunk("stop"),
        DONE,
    )
    assert heard.text == "yes"
    assert heard.error is None


@pytest.mark.parametrize(
    "end",
    [[chunk("stop"), DONE], [chunk("stop")], [DONE], [chunk("STOP"), chunk("stop"), DONE]],
    ids=["both", "no DONE", "no finish_reason", "twice"],
)
def test_an_answer_ends_well_in_several_ways(hear, end):
    heard = hear(chunk(content="yes"), *end)
    assert heard.error is None
    assert heard.items[0]["content"][0]["text"] == "yes"
    assert isinstance(heard.events[-1], Completed)
    assert len(heard.of(Completed)) == 1


def test_a_stream_that_ends_in_the_middle_may_be_tried_again(hear):
    heard = hear(chunk(content="ye"))
    assert heard.error.retryable
    assert "finish_reason" in str(heard.error)


def test_an_answer_that_is_no_stream_is_understood(hear):
    answer = {"role": "assistant", "content": "yes", "tool_calls": [part(0, "a", "run", "{}")]}
    whole = {"id": "c", "choices": [{"message": answer, "finish_reason": "tool_calls"}]}
    heard = hear(json.dumps(whole, indent=1))
    assert [item["type"] for item in heard.items] == ["message", "function_call"]
    assert isinstance(heard.events[-1], Completed)


@pytest.mark.parametrize(
    ("reason", "cause"), [("length", "max_output_tokens"), ("content_filter", "content_filter")]
)
def test_an_answer_cut_short_says_why_and_runs_no_half_call(hear, reason, cause):
    heard = hear(
        chunk(content="so"),
        calls_chunk(part(0, "a", "run", "{}")),
        calls_chunk(part(1, "b", "run", '{"x": ')),
        chunk(reason),
        DONE,
    )
    assert cause in str(heard.error)
    assert not heard.error.retryable
    assert [call_id for call_id, *_ in calls_of(heard)] == ["a"]


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (
            {
                "prompt_tokens": 100,
                "completion_tokens": 20,
                "total_tokens": 120,
                "prompt_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 5},
                "completion_tokens_details": {"reasoning_tokens": 8},
            },
            (120, 100, 60, 5, 20, 8),
        ),
        (
            {"prompt_tokens": 100, "completion_tokens": 20, "prompt_cache_hit_tokens": 60},
            (120, 100, 60, 0, 20, 0),
        ),
        (
            {
                "prompt_tokens": 100,
                "completion_tokens": 20,
                "total_tokens": 150,
                "completion_tokens_details": {"reasoning_tokens": 30},
            },
            (150, 100, 0, 0, 50, 30),
        ),
    ],
    ids=["OpenAI", "DeepSeek", "xAI"],
)
def test_usage_is_read_where_vendors_put_it(hear, usage, expected):
    heard = hear(chunk(content="x"), chunk("stop"), {"choices": [], "usage": usage}, DONE)
    assert tuple(heard.events[-1].usage.values()) == expected


def test_usage_beside_the_finish_reason_counts_too(hear):
    usage = {"prompt_tokens": 1, "completion_tokens": 2}
    heard = hear(chunk(content="x"), chunk("stop", usage), DONE)
    assert heard.events[-1].usage["totalTokens"] == 3


def test_no_usage_is_none(hear):
    assert hear(chunk(content="x"), chunk("stop"), DONE).events[-1].usage is None


def test_what_gemini_hides_in_a_call_is_kept(hear):
    extra = {"extra_content": {"google": {"thought_signature": "s"}}}
    heard = hear(
        calls_chunk(part(None, "a", "run", "{}", **extra)), chunk("stop"), DONE, vendor="gemini"
    )
    assert heard.items[0]["extra_content"] == extra["extra_content"]
    plain = hear(calls_chunk(part(None, "a", "run", "{}", **extra)), chunk("stop"), DONE)
    assert "extra_content" not in plain.items[0]


def test_sealed_reasoning_of_openrouter_is_joined_and_kept(hear):
    def details(**entry):
        return chunk(reasoning_details=[{"index": 0, "type": "reasoning.text", **entry}])

    heard = hear(
        details(text="a"),
        details(text="b"),
        details(signature="s"),
        chunk(content="yes"),
        chunk("stop"),
        DONE,
        vendor="openrouter",
    )
    assert heard.items[0]["reasoning_details"] == [
        {"index": 0, "type": "reasoning.text", "text": "ab", "signature": "s"}
    ]
    assert heard.items[1]["type"] == "message"


def test_deltas_that_arrive_together_are_joined(model_server, talk):
    model_server.play([{"deltas": {"count": 20_000, "text": "ab "}}])
    heard = talk()
    assert heard.text == "ab " * 20_000
    assert len(heard.events) < 2_000


def test_a_call_in_many_fragments_costs_time_in_proportion(hear):
    text = json.dumps({"cmd": "x" * 400_000})
    fragments = [text[start : start + 20] for start in range(0, len(text), 20)]
    heard = hear(
        calls_chunk(part(0, "a", "run", "")),
        *(calls_chunk(part(0, None, None, fragment)) for fragment in fragments),
        chunk("tool_calls"),
        DONE,
    )
    assert calls_of(heard) == [("a", "run", text)]


def test_calls_a_model_writes_into_its_answer_are_found_if_that_is_wished(hear):
    block = '```json\n{"name": "run", "arguments": {"n": 1}}\n```'
    said = [chunk(content=block), chunk("stop"), DONE]
    assert hear(*said).text == block
    ((_, name, arguments),) = calls_of(hear(*said, quirks={"text_calls": True}))
    assert (name, json.loads(arguments)) == ("run", {"n": 1})
