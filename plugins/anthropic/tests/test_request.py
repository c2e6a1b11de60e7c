"""What a request looks like on the wire."""

import json
import subprocess
import sys

import anyio
import pytest

from ferrule_anthropic.provider import AnthropicProvider
from ferrule_hookspecs.errors import ConfigError
from ferrule_hookspecs.models import ModelInfo
from ferrule_hookspecs.plugins import PluginContext
from ferrule_hookspecs.provider import Completed
from ferrule_hookspecs.tools import FreeformSchema, FunctionSchema
from ferrule_testkit.model_items import function_call, message, reasoning

RUN = FunctionSchema("run", "Runs.", {"type": "object", "properties": {}})
PATCH = FreeformSchema("apply_patch", "Patches files.", "lark", "start: /x/")
MARK = {"cache_control": {"type": "ephemeral"}}
PIXEL = "data:image/png;base64,iVBORw0KGgo="


def said(role, *texts):
    kind = "output_text" if role == "assistant" else "input_text"
    parts = [{"type": kind, "text": text} for text in texts]
    return {"type": "message", "role": role, "content": parts}


def output(call_id, given, kind="function_call_output"):
    return {"type": kind, "call_id": call_id, "output": given}


@pytest.fixture
def sent(model_server, talk):
    """Send a request, and get what the server received; it must have been well formed."""

    def send(request, **settings):
        model_server.play([[message("ok")]])
        heard = talk(request, settings=settings)
        assert heard.error is None, heard.error
        return model_server.requests[-1]

    return send


@pytest.fixture
def messages(sent, make_request):
    """The messages a history becomes, without marks for caching."""

    def send(*items, **changes):
        request = make_request(input=list(items), **changes)
        return sent(request, cache_ttl="off").body["messages"]

    return send


def shape(given):
    """Roles and kinds of blocks, in short."""
    return [
        f"{each['role'][0]}:" + ",".join(block.get("text") or block["type"] for block in blocks)
        for each in given
        for blocks in [each["content"]]
    ]


def test_a_plain_request_holds_what_the_api_needs(sent, make_request):
    request = sent(make_request(input=[said("developer", "Be brief."), said("user", "hi")]))
    assert request.path == "/v1/messages"
    assert request.body == {
        "model": "claude-sonnet-4-5",
        "max_tokens": 32_000,
        "stream": True,
        "system": [{"type": "text", "text": "Be brief.", **MARK}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "hi", **MARK}]}],
    }
    assert request.headers["anthropic-version"] == "2023-06-01"
    assert "anthropic-beta" not in request.headers


def test_the_key_goes_into_its_own_header(model_server, talk):
    model_server.play([[message("ok")]])
    talk(environ={"MY_KEY": "sk-ant-1234567890"}, env_key="MY_KEY", http_headers={"x-team": "blue"})
    headers = model_server.requests[0].headers
    assert headers["x-api-key"] == "sk-ant-1234567890"
    assert "authorization" not in headers
    assert headers["x-team"] == "blue"


def test_tools_are_offered_in_the_form_of_the_api(sent, make_request):
    function, freeform = sent(make_request(tools=[RUN, PATCH])).body["tools"]
    assert function == {
        "name": "run",
        "description": "Runs.",
        "input_schema": {"type": "object", "properties": {}},
    }
    assert freeform["name"] == "apply_patch"
    assert freeform["input_schema"]["required"] == ["input"]
    assert freeform["input_schema"]["properties"]["input"]["type"] == "string"
    assert freeform["description"].startswith("Patches files.")
    assert freeform["description"].endswith("start: /x/")
    assert freeform["cache_control"] == {"type": "ephemeral"}


def test_alternatives_at_the_top_of_a_schema_are_told_in_words(sent, make_request):
    alternatives = [{"properties": {"a": {"type": "string"}}, "required": ["a"]}, {"title": "b"}]
    parameters = {"type": "object", "properties": {"b": {}}, "anyOf": alternatives}
    tool = FunctionSchema("either", "Does.", parameters)
    (block,) = sent(make_request(tools=[tool])).body["tools"]
    assert block["input_schema"]["properties"] == {"a": {"type": "string"}, "b": {}}
    assert block["description"].startswith("Does.")
    assert json.dumps({"anyOf": alternatives}) in block["description"]


def test_parallel_calls_can_be_forbidden(sent, make_request):
    request = make_request(tools=[RUN], parallel_tool_calls=False)
    expected = {"type": "auto", "disable_parallel_tool_use": True}
    assert sent(request).body["tool_choice"] == expected
    assert "tool_choice" not in sent(make_request(parallel_tool_calls=False)).body
    assert "tool_choice" not in sent(make_request(tools=[RUN])).body


def test_instructions_before_the_user_are_the_system_prompt_later_ones_are_tagged(
    sent, make_request
):
    items = [said("developer", "a"), said("system", "b"), said("user", "c"), said("developer", "d")]
    body = sent(make_request(input=items), cache_ttl="off").body
    assert [block["text"] for block in body["system"]] == ["a", "b"]
    tagged = "<developer_message>\nd\n</developer_message>"
    assert shape(body["messages"]) == [f"u:c,{tagged}"]


def test_what_one_response_said_is_one_message_whenever_its_results_came(messages):
    given = messages(
        said("user", "go"),
        {**function_call("run", {}, call_id="a"), "id": "fc_1.0"},
        output("a", "first"),
        {**said("assistant", "and"), "id": "msg_1.1"},
        {**function_call("run", {}, call_id="b"), "id": "fc_1.2"},
        output("b", "second"),
        {**function_call("run", {}, call_id="c"), "id": "fc_2.0"},
        output("c", "third"),
    )
    assert shape(given) == [
        "u:go",
        "a:tool_use,and,tool_use",
        "u:tool_result,tool_result",
        "a:tool_use",
        "u:tool_result",
    ]
    results = [block["tool_use_id"] for block in given[2]["content"]]
    assert results == ["a", "b"]


def test_responses_of_a_server_that_gives_them_one_id_are_told_apart(messages):
    given = messages(
        said("user", "go"),
        {**function_call("run", {}, call_id="a"), "id": "fc_x.0"},
        output("a", "first"),
        {**function_call("run", {}, call_id="b"), "id": "fc_x.0"},
        output("b", "second"),
    )
    assert [each["role"][0] for each in given] == ["u", "a", "u", "a", "u"]


def test_calls_of_another_api_are_kept_in_their_order(messages):
    given = messages(
        said("user", "go"),
        function_call("run", {"a": 1}, call_id="call|1"),
        function_call("run", {}, call_id="call|1"),
        output("call|1", "first"),
        output("call|1", "second"),
        function_call("run", {}, call_id="c"),
        said("user", "then"),
    )
    assert shape(given)[1:] == [
        "a:tool_use,tool_use",
        "u:tool_result,tool_result",
        "a:tool_use",
        "u:tool_result,then",
    ]
    first, second = given[2]["content"]
    assert (first["tool_use_id"], second["tool_use_id"]) == ("call_1", "call_1_2")
    assert first["content"] == [{"type": "text", "text": "first"}]
    missing = given[4]["content"][0]
    assert missing["is_error"]
    assert "no result" in missing["content"]


def test_an_output_without_its_call_is_told_as_text(messages):
    given = messages(said("user", "go"), output("gone", "what it gave"))
    assert shape(given) == ["u:go,(The result of an earlier call:),what it gave"]


def test_the_user_has_the_first_and_the_last_word(messages):
    given = messages(said("assistant", "I was"))
    assert [each["role"] for each in given] == ["user", "assistant", "user"]
    assert [each["role"] for each in messages()] == ["user"]


def test_an_answer_that_was_cut_off_is_asked_to_go_on_the_same_way_ever_after(messages):
    begun = [said("user", "go"), {**said("assistant", "half"), "id": "msg_1.0"}]
    asked = messages(*begun)
    later = messages(*begun, {**said("assistant", "rest"), "id": "msg_2.0"}, said("user", "thanks"))
    assert later[: len(asked)] == asked
    assert shape(later)[3:] == ["a:rest", "u:thanks"]


def test_thinking_goes_back_as_it_came_and_a_thought_without_an_end_does_not(
    model_server, talk, make_request, sent
):
    model_server.play([[reasoning("deep ü thought"), function_call("run", {})]])
    items = [event.item for event in talk().events if type(event).__name__ == "ItemDone"]
    history = [said("user", "go"), *items, output("call_1", "x")]
    content = sent(make_request(input=history)).body["messages"][1]["content"]
    assert [block["type"] for block in content] == ["thinking", "tool_use"]
    assert content[0]["thinking"] == "deep ü thought"
    cut_off = [said("user", "go"), items[0], said("user", "again")]
    assert shape(sent(make_request(input=cut_off)).body["messages"]) == ["u:go,again"]


def test_reasoning_of_another_api_is_not_sent(messages):
    given = messages(said("user", "a"), reasoning("secret"), message("b"), said("user", "c"))
    assert shape(given) == ["u:a", "a:b", "u:c"]


def test_thinking_the_server_cannot_read_is_left_out_from_then_on(model_server, talk, make_request):
    block = {"type": "thinking", "thinking": "mine", "signature": "of another model"}
    foreign = {
        "type": "reasoning",
        "summary": [],
        "encrypted_content": f"anthropic-block:{json.dumps(block)}",
    }
    history = [said("user", "a"), foreign, message("b"), said("user", "c")]
    model_server.play([[message("ok")], [message("ok")]])
    request = make_request(input=history)
    first, second = talk(request, request)
    assert first.error is None
    assert second.error is None
    kinds = [len(each.body["messages"][1]["content"]) for each in model_server.requests]
    assert kinds == [2, 1, 1]


@pytest.mark.parametrize(
    ("url", "block"),
    [
        (
            PIXEL,
            {
                "type": "image",
                "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="},
            },
        ),
        (
            "https://example.org/a.png",
            {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}},
        ),
        (
            "data:image/tiff;base64,AAAA",
            {"type": "text", "text": "(an image of the type image/tiff)"},
        ),
        (
            "http://10.0.0.1/a.png",
            {"type": "text", "text": "(an image at an address the model cannot reach)"},
        ),
    ],
    ids=["data", "https", "unknown-type", "http"],
)
def test_images_of_users_and_tools(messages, url, block):
    part = {"type": "input_image", "image_url": url}
    user = {"type": "message", "role": "user", "content": [part]}
    given = messages(user, function_call("view", {}), output("call_1", [part]))
    assert given[0]["content"] == [block]
    assert given[2]["content"][0]["content"] == [block]


def test_blank_text_and_malformed_arguments_do_not_spoil_a_request(messages):
    call = {**function_call("run", {}), "arguments": '{"a": 1e999'}
    given = messages(said("user", " \n"), call, output("call_1", "  "), said("assistant", ""))
    assert given[1]["content"][0]["input"] == {"arguments": '{"a": 1e999'}
    assert given[2]["content"] == [{"type": "tool_result", "tool_use_id": "call_1"}]


def test_text_no_encoding_can_carry_does_not_stop_a_request(messages):
    text = messages(said("user", "half a pair: \ud800, whole: \U0001f600"))[0]["content"][0]["text"]
    assert text == "half a pair: ?, whole: \U0001f600"


def test_a_growing_conversation_is_marked_where_the_one_before_ended(sent, make_request):
    history = [said("developer", "s"), said("user", "a"), message("b"), said("user", "c")]
    first = sent(make_request(input=history, tools=[RUN])).body
    second = sent(make_request(input=[*history, message("d"), said("user", "e")], tools=[RUN])).body
    assert first["tools"] == second["tools"]
    assert first["system"] == second["system"]
    assert marked(first) == ["a", "c"]
    assert marked(second) == ["c", "e"]


def marked(body):
    blocks = [block for each in body["messages"] for block in each["content"]]
    return [block["text"] for block in blocks if "cache_control" in block]


def test_caching_can_be_longer_or_off(sent, make_request):
    system = [said("developer", "s"), said("user", "a")]
    long = sent(make_request(input=system), cache_ttl="1h").body["system"][0]
    assert long["cache_control"] == {"type": "ephemeral", "ttl": "1h"}
    assert b"cache_control" not in sent(make_request(input=system), cache_ttl="off").raw


def test_the_length_of_an_answer_comes_from_settings_or_what_is_known(sent, make_request):
    known = make_request(model_info=ModelInfo("claude-x", max_output_tokens=64_000))
    assert sent(known).body["max_tokens"] == 64_000
    assert sent(known, max_tokens=9_000).body["max_tokens"] == 9_000


@pytest.mark.parametrize(
    ("model", "effort", "thinking", "advice"),
    [
        ("claude-opus-4-6", "high", "adaptive", "high"),
        ("claude-opus-4-6", None, "adaptive", None),
        ("claude-sonnet-5", "minimal", "adaptive", "low"),
        ("claude-fable-5-1", "max", "adaptive", "max"),
        ("claude-mythos-preview", "low", "adaptive", "low"),
        ("anthropic/claude-opus-4.7", "xhigh", "adaptive", "xhigh"),
        ("claude-opus-5", "none", None, "low"),
        ("claude-sonnet-4-5-20250929", "low", 4_096, None),
        ("claude-opus-4-20250514", "high", 16_000, None),
        ("claude-3-7-sonnet-20250219", "minimal", 1_024, None),
        ("claude-haiku-4-5", None, None, None),
        ("claude-3-5-haiku-20241022", "high", None, None),
        ("deepseek-chat", "high", None, None),
    ],
)
def test_effort_becomes_the_thinking_the_model_knows(
    sent, make_request, model, effort, thinking, advice
):
    request = sent(make_request(model=model, reasoning_effort=effort))
    told = request.body.get("thinking", {})
    assert told.get("budget_tokens") == (thinking if isinstance(thinking, int) else None)
    assert (told.get("type") == "adaptive") == (thinking == "adaptive")
    assert request.body.get("output_config", {}).get("effort") == advice
    is_interleaved = request.headers.get("anthropic-beta") == "interleaved-thinking-2025-05-14"
    assert is_interleaved == isinstance(thinking, int)


def test_effort_goes_no_further_than_the_model_does(sent, make_request):
    info = ModelInfo("claude-opus-4-6", reasoning_efforts=("low", "medium", "high"))
    request = make_request(model="claude-opus-4-6", reasoning_effort="max", model_info=info)
    assert sent(request).body["output_config"] == {"effort": "high"}


def test_settings_override_how_thinking_is_asked_for(sent, make_request):
    request = make_request(model="my-proxy-model", reasoning_effort="low")
    assert sent(request, thinking="adaptive").body["thinking"]["type"] == "adaptive"
    told = sent(request, thinking="budget", thinking_budget=2_000).body["thinking"]
    assert told == {"type": "enabled", "budget_tokens": 2_000}
    claude = make_request(model="claude-opus-5", reasoning_effort="low")
    assert "thinking" not in sent(claude, thinking="off").body
    told = sent(claude, thinking="between_tools").body
    assert told["thinking"] == {"type": "between_tools"}
    assert told["output_config"] == {"effort": "low"}


def test_summaries_can_be_declined(sent, make_request):
    shown = make_request(model="claude-opus-5")
    hidden = make_request(model="claude-opus-5", reasoning_summary="none")
    assert sent(shown).body["thinking"]["display"] == "summarized"
    assert sent(hidden).body["thinking"]["display"] == "omitted"


def test_a_budget_waits_for_the_next_turn_where_this_one_began_without_thinking(sent, make_request):
    history = [said("user", "a"), function_call("run", {}), output("call_1", "x")]
    begun = make_request(input=history, reasoning_effort="high")
    assert "thinking" not in sent(begun).body
    next_turn = make_request(input=[*history, message("b"), said("user", "c")])
    assert "thinking" in sent(next_turn._replace(reasoning_effort="high")).body


def test_a_schema_is_sent_by_the_means_of_the_api_or_in_words(sent, make_request):
    schema = {"type": "object", "additionalProperties": False}
    request = make_request(output_schema=schema)
    native = sent(request).body
    assert native["output_config"] == {"format": {"type": "json_schema", "schema": schema}}
    in_words = sent(request, output_schema="instructions").body
    assert "output_config" not in in_words
    assert json.dumps(schema) in in_words["system"][-1]["text"]


def test_betas_are_sent_once_each(sent, make_request):
    request = make_request(reasoning_effort="low")
    betas = ["context-1m-2025-08-07", "interleaved-thinking-2025-05-14"]
    header = sent(request, betas=betas).headers["anthropic-beta"]
    assert sorted(header.split(",")) == sorted(betas)


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"max_token": 1}, "`settings.max_token` .* is not known"),
        ({"max_tokens": 0}, "must be a number, one or more"),
        (
            {"thinking": "loud"},
            "must be one of auto, adaptive, budget, between_tools, disabled, off",
        ),
        ({"betas": "one"}, "must be a list of strings"),
    ],
)
def test_settings_that_cannot_be_are_named(talk, settings, problem):
    with pytest.raises(ConfigError, match=problem):
        talk(settings=settings)


def test_equal_requests_are_equal_bytes_and_longer_ones_begin_alike(sent, make_request):
    history = [said("developer", "s"), said("user", "a"), message("b")]
    first = sent(make_request(input=[*history, said("user", "c")], tools=[RUN]), cache_ttl="off")
    same = sent(make_request(input=[*history, said("user", "c")], tools=[RUN]), cache_ttl="off")
    longer = [*history, said("user", "c"), message("d"), said("user", "e")]
    second = sent(make_request(input=longer, tools=[RUN], turn_id="turn-2"), cache_ttl="off")
    assert first.raw == same.raw
    assert second.raw.startswith(first.raw.removesuffix(b"]}"))


def test_nothing_heavy_is_imported_on_the_way_to_a_plain_server(model_server):
    model_server.play([[message("x")]])
    program = f"""
import asyncio, sys
from pathlib import Path
from ferrule_hookspecs.plugins import PluginContext
from ferrule_anthropic.provider import AnthropicProvider
assert "anyio" not in sys.modules, "constructing the class costs nothing"
provider = AnthropicProvider(
    PluginContext(home=Path("."), config={{}}, settings={{"base_url": "{model_server.base_url}"}})
)
from ferrule_hookspecs.provider import ModelRequest
async def main():
    async for _ in provider.stream(ModelRequest("t", "u", "m", [], [])):
        pass
    await provider.aclose()
asyncio.run(main())
heavy = {{"httpx", "httpcore", "h11", "certifi", "pydantic", "rich", "click", "hashlib"}}
print(sorted(heavy & set(sys.modules)))
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env={"PATH": "/usr/bin:/bin"},
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_a_reader_that_stops_early_leaves_the_provider_usable(model_server, make_request, tmp_path):
    model_server.play([{"items": [message("a b c")], "hang": True}, [message("again")]])
    settings = {"base_url": model_server.base_url}

    async def main():
        provider = AnthropicProvider(PluginContext(home=tmp_path, config={}, settings=settings))
        with anyio.move_on_after(0.2) as scope:
            async for _ in provider.stream(make_request()):
                pass
        again = [event async for event in provider.stream(make_request())]
        await provider.aclose()
        return scope.cancelled_caught, again

    was_cancelled, again = anyio.run(main)
    assert was_cancelled
    assert isinstance(again[-1], Completed)
