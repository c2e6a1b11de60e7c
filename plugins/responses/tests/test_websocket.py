"""Requests over a WebSocket: what goes over the line, and what comes back.

The wire as a client of the same protocol (0.169) was seen to speak it: an upgrade of GET
{base_url}/responses with `openai-beta: responses_websockets=2026-02-06` and the headers of an HTTP
request; a text message `response.create` per request, with tools and settings each time; a warm-up
with `generate: false`; then `previous_response_id` and only the new items.
"""

import subprocess
import sys
from importlib.machinery import BuiltinImporter

import anyio
import pytest

from ferrule_hookspecs.errors import ConfigError
from ferrule_hookspecs.plugins import PluginContext
from ferrule_hookspecs.provider import Completed, ItemDone, TextDelta
from ferrule_hookspecs.tools import FunctionSchema
from ferrule_responses.provider import ResponsesProvider
from ferrule_testkit.model_items import function_call, message, reasoning

BASE = {
    "type": "message",
    "role": "developer",
    "content": [{"type": "input_text", "text": "B" * 9}],
}
TOOLS = [FunctionSchema("look", "Look at it.", {"type": "object", "properties": {}})]


def user(text):
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}


def output(text, call_id="call_1"):
    return {"type": "function_call_output", "call_id": call_id, "output": text}


@pytest.fixture
def ask(make_request):
    """A request with the given input, tools included."""
    return lambda *items, **changes: make_request(input=[BASE, *items], tools=TOOLS, **changes)


def test_the_upgrade_carries_the_protocol_the_key_and_the_thread(model_server, talk, ask):
    talk(ask(), supports_websockets=True, environ={"K": "key-1234567"}, env_key="K")
    (upgrade,) = model_server.upgrades
    assert upgrade.path == "/v1/responses"
    assert upgrade.headers["openai-beta"] == "responses_websockets=2026-02-06"
    assert upgrade.headers["authorization"] == "Bearer key-1234567"
    assert upgrade.headers["thread-id"] == upgrade.headers["session-id"] == "thread-1"
    assert upgrade.headers["user-agent"].startswith("ferrule/")
    assert "content-type" not in upgrade.headers
    assert model_server.requests == []


def test_a_first_message_is_the_body_of_a_request_without_what_only_http_needs(
    model_server, talk, ask
):
    talk(ask(user("hi")))
    talk(ask(user("hi")), supports_websockets=True)
    over_http = model_server.requests[0].body
    assert over_http.pop("stream") is True
    assert model_server.messages[0].body == {"type": "response.create", **over_http}


def test_events_are_those_of_the_stream_over_http(model_server, talk, ask):
    turn = [reasoning("thinking"), message("two words"), function_call("look", {})]
    model_server.play([turn, turn])
    over_http = talk(ask())
    over_websocket = talk(ask(), supports_websockets=True)
    assert over_websocket.error is None
    assert over_websocket.of(ItemDone) == over_http.of(ItemDone)
    text = "".join(event.delta for event in over_websocket.of(TextDelta))
    assert text == "".join(event.delta for event in over_http.of(TextDelta)) == "two words"
    assert over_websocket.of(Completed)[0].usage == over_http.of(Completed)[0].usage


def test_a_request_that_goes_on_names_the_last_response_and_sends_only_what_is_new(
    model_server, talk, ask
):
    call = function_call("look", {})
    model_server.play([[call], [message("done")]])
    talk(ask(user("hi")), ask(user("hi"), call, output("seen")), supports_websockets=True)
    first, second = model_server.messages
    assert second.body["previous_response_id"] == "resp_2"
    assert second.body["input"] == [output("seen")]
    assert second.body["tools"] == first.body["tools"] != []
    assert second.whole_input == [BASE, user("hi"), call, output("seen")]
    assert second.connection == first.connection


def test_a_new_turn_goes_on_although_its_metadata_differs(model_server, talk, ask):
    said = message("hello")
    model_server.play([[said], [message("again")]])
    second = ask(user("hi"), said, user("more"), turn_id="turn-2", metadata={"kind": "later"})
    talk(ask(user("hi")), second, supports_websockets=True)
    assert model_server.messages[1].body["input"] == [user("more")]
    assert model_server.messages[1].body["client_metadata"]["turn_id"] == "turn-2"


def test_outputs_stored_between_the_calls_of_one_response_are_still_new(model_server, talk, ask):
    """A call runs while the response goes on, so its output may come before the next call."""
    one, two = (function_call("look", {}, call_id=name) for name in ("a", "b"))
    model_server.play([[one, two], [message("done")]])
    history = [one, output("1", "a"), two, output("2", "b")]
    talk(ask(user("hi")), ask(user("hi"), *history), supports_websockets=True)
    assert model_server.messages[1].body["input"] == [output("1", "a"), output("2", "b")]


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"model": "other"}, id="model"),
        pytest.param({"tools": []}, id="tools"),
        pytest.param({"reasoning_effort": "high"}, id="effort"),
        pytest.param({"output_schema": {"type": "object"}}, id="schema"),
        pytest.param({"input": [BASE, user("summary")], "kind": "compaction"}, id="compacted"),
        pytest.param({"input": [BASE, user("hi"), user("more")]}, id="answer-missing"),
        pytest.param({"input": [BASE, user("hi"), message("hello")]}, id="nothing-new"),
        pytest.param({"input": [BASE, user("ho"), message("hello"), user("more")]}, id="edited"),
    ],
)
def test_a_request_that_does_not_go_on_is_sent_whole(model_server, talk, ask, change):
    said = message("hello")
    model_server.play([[said], [message("again")]])
    second = ask(user("hi"), said, user("more"))._replace(**change)
    heard = talk(ask(user("hi")), second, supports_websockets=True)
    assert [each.error for each in heard] == [None, None]
    assert "previous_response_id" not in model_server.messages[1].body
    assert model_server.messages[1].body["input"] == list(second.input)
    assert model_server.messages[1].connection == model_server.messages[0].connection


def test_long_conversations_send_a_small_part_of_what_http_sends(model_server, talk, ask):
    calls = [function_call("look", {}, call_id=f"c{number}") for number in range(50)]
    script = [[call] for call in calls]
    history, requests = [user("hi")], []
    for call in calls:
        requests.append(ask(*history))
        history += [call, output("x" * 400, call["call_id"])]
    model_server.play([*script, *script])
    talk(*requests)
    talk(*requests, supports_websockets=True)
    over_http = sum(len(request.raw) for request in model_server.requests)
    over_websocket = sum(len(request.raw) for request in model_server.messages)
    assert over_websocket < over_http / 8
    assert [message.whole_input for message in model_server.messages] == [
        request.body["input"] for request in model_server.requests
    ]


def test_long_answers_and_large_messages_arrive_whole(model_server, talk, ask):
    large = message("y" * (17 * 1024 * 1024))
    big_output = "z" * (17 * 1024 * 1024)
    turn = {"items": [large], "deltas": {"count": 5_000, "text": "word "}}
    model_server.play([turn, [message("done")]])
    second = ask(user("hi"), function_call("look", {}), output(big_output))
    first, last = talk(ask(user("hi")), second, supports_websockets=True)
    assert first.of(ItemDone)[-1].item == large
    assert first.of(ItemDone)[0].item["content"][0]["text"] == "word " * 5_000
    assert last.error is None
    assert model_server.messages[1].whole_input[-1]["output"] == big_output


def test_lone_surrogates_of_a_command_are_replaced(model_server, talk, ask):
    assert talk(ask(user("\udc80")), supports_websockets=True).error is None
    assert model_server.messages[0].body["input"][-1]["content"][0]["text"] == "?"


def _provider(model_server, tmp_path, **settings):
    table = {"base_url": model_server.base_url, "supports_websockets": True, **settings}
    return ResponsesProvider(PluginContext(home=tmp_path, config={}, settings=table))


async def _heard(provider, request):
    return [event async for event in provider.stream(request)]


def test_a_warm_up_sends_the_beginning_and_the_first_request_only_the_rest(
    model_server, ask, tmp_path
):
    async def main():
        provider = _provider(model_server, tmp_path)
        await provider.warm_up(ask(user("hi")))
        model_server.play([[message("hello")]])
        heard = await _heard(provider, ask(user("hi")))
        await provider.aclose()
        return heard

    assert isinstance(anyio.run(main)[-1], Completed)
    warm_up, first = model_server.messages
    assert warm_up.body["generate"] is False
    assert warm_up.body["input"] == [BASE]
    assert first.body["input"] == [user("hi")]
    assert "generate" not in first.body


def test_sessions_side_by_side_have_a_connection_each(model_server, ask, tmp_path):
    model_server.play([[message("a")]] * 8)

    async def talk_twice(number):
        provider = _provider(model_server, tmp_path)
        for _ in range(2):
            await _heard(provider, ask(user("hi"), thread_id=f"thread-{number}"))
        await provider.aclose()

    async def main():
        async with anyio.create_task_group() as group:
            for number in range(4):
                group.start_soon(talk_twice, number)

    anyio.run(main)
    used = {(each.body["prompt_cache_key"], each.connection) for each in model_server.messages}
    assert len(model_server.messages) == 8
    assert len(used) == len({thread for thread, _ in used}) == 4


def test_a_second_request_at_the_same_time_goes_over_http(model_server, ask, tmp_path):
    model_server.play(
        {
            "turns": [[message("short")]],
            "routes": [{"contains": "wait", "turns": [{"items": [message("long")], "hang": True}]}],
        }
    )

    async def main():
        provider = _provider(model_server, tmp_path)
        long = provider.stream(ask(user("wait")))
        await anext(long)
        short = await _heard(provider, ask(user("hi")))
        await long.aclose()
        await provider.aclose()
        return short

    assert isinstance(anyio.run(main)[-1], Completed)
    assert len(model_server.messages) == len(model_server.requests) == 1


def test_an_interrupted_response_leaves_the_provider_usable(model_server, ask, tmp_path):
    model_server.play([{"items": [message("never done")], "hang": True}, [message("fresh")]])

    async def main():
        provider = _provider(model_server, tmp_path)
        with anyio.CancelScope() as scope:
            async for event in provider.stream(ask(user("hi"))):
                if isinstance(event, ItemDone):
                    scope.cancel()
        heard = await _heard(provider, ask(user("hi"), user("go on")))
        await provider.aclose()
        return heard

    assert anyio.run(main)[-2].item == message("fresh")
    first, second = model_server.messages
    assert second.connection != first.connection
    assert second.body["input"] == [BASE, user("hi"), user("go on")]


@pytest.mark.parametrize(
    ("table", "fault"),
    [
        ({"supports_websockets": "yes"}, "'supports_websockets' must be true or false"),
        (
            {"supports_websockets": True, "websocket_connect_timeout_ms": -1},
            "'websocket_connect_timeout_ms' must be a number",
        ),
    ],
)
def test_settings_of_the_wrong_type_are_named(tmp_path, table, fault):
    with pytest.raises(ConfigError, match=fault):
        ResponsesProvider(PluginContext(home=tmp_path, config={}, settings=table))


def test_an_installation_without_the_library_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "meta_path", [BuiltinImporter])
    monkeypatch.delitem(sys.modules, "websockets", raising=False)
    with pytest.raises(ConfigError, match=r"install 'ferrule-responses\[websocket\]'"):
        ResponsesProvider(
            PluginContext(home=tmp_path, config={}, settings={"supports_websockets": True})
        )


def test_without_websockets_nothing_of_them_is_imported():
    code = (
        "import sys, pathlib\n"
        "from ferrule_hookspecs.plugins import PluginContext\n"
        "from ferrule_responses.provider import ResponsesProvider\n"
        "context = PluginContext(home=pathlib.Path(), config={}, settings={'base_url': 'http://x'})\n"
        "ResponsesProvider(context).prewarm()\n"
        "assert not {'websockets', 'ferrule_responses.websocket'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
