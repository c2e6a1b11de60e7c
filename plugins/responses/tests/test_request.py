"""What a request looks like on the wire."""

import json
import subprocess
import sys
from importlib.metadata import version

from ferrule_hookspecs.tools import FreeformSchema, FunctionSchema
from ferrule_responses.body import encode_request
from ferrule_testkit.model_items import message

TOOLS = (
    FunctionSchema("run", "Runs.", {"type": "object", "properties": {}}),
    FreeformSchema("patch", "Patches.", "lark", "start: /x/"),
)


def user(text):
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}


def sent(model_server, talk, request, **settings):
    model_server.play([[message("ok")]])
    talk(request, **settings)
    return model_server.requests[-1]


def test_the_body_holds_the_keys_of_the_format(model_server, talk, make_request):
    schema = {"type": "object"}
    request = make_request(
        input=[user("hi")],
        tools=TOOLS,
        reasoning_effort="high",
        reasoning_summary="auto",
        verbosity="low",
        output_schema=schema,
        metadata={"client": "test"},
    )
    assert sent(model_server, talk, request).body == {
        "model": "gpt-5.5",
        "stream": True,
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "prompt_cache_key": "thread-1",
        "tool_choice": "auto",
        "parallel_tool_calls": True,
        "input": [user("hi")],
        "tools": [
            {
                "type": "function",
                "name": "run",
                "description": "Runs.",
                "strict": False,
                "parameters": {"type": "object", "properties": {}},
            },
            {
                "type": "custom",
                "name": "patch",
                "description": "Patches.",
                "format": {"type": "grammar", "syntax": "lark", "definition": "start: /x/"},
            },
        ],
        "reasoning": {"effort": "high", "summary": "auto"},
        "text": {
            "verbosity": "low",
            "format": {
                "type": "json_schema",
                "strict": True,
                "schema": schema,
                "name": "codex_output_schema",
            },
        },
        "client_metadata": {"thread_id": "thread-1", "turn_id": "turn-1", "client": "test"},
    }


def test_what_was_not_chosen_is_left_to_the_model(make_request):
    body = json.loads(encode_request(make_request(reasoning_summary="none")))
    assert "reasoning" not in body
    assert "text" not in body


def test_a_request_begins_with_the_bytes_of_the_one_before(make_request):
    history = [user("first"), message("answer"), user("second")]
    first = encode_request(make_request(input=history, tools=TOOLS, reasoning_effort="low"))
    second = encode_request(
        make_request(
            input=[*history, message("more"), user("third")],
            tools=TOOLS,
            turn_id="turn-2",
            reasoning_effort="high",
            verbosity="high",
            output_schema={"type": "object"},
        )
    )
    end_of_input = first.index(b'],"reasoning":')
    assert second.startswith(first[:end_of_input])
    assert b"second" in first[:end_of_input]


def test_images_pass_through_untouched(model_server, talk, make_request):
    image = {"type": "input_image", "image_url": "data:image/png;base64,AAAA", "detail": "original"}
    item = {"type": "message", "role": "user", "content": [image]}
    assert sent(model_server, talk, make_request(input=[item])).body["input"] == [item]


def test_text_no_encoding_can_carry_does_not_stop_a_request(model_server, talk, make_request):
    request = make_request(input=[user("half a pair: \ud800, whole: \U0001f600")])
    text = sent(model_server, talk, request).body["input"][0]["content"][0]["text"]
    assert text == "half a pair: ?, whole: \U0001f600"


def test_headers_name_the_program_and_the_thread(model_server, talk, make_request):
    headers = sent(model_server, talk, make_request()).headers
    assert headers["user-agent"].startswith(f"ferrule/{version('ferrule-responses')} (")
    assert headers["originator"] == "ferrule_exec"
    for name in ("session-id", "thread-id", "x-client-request-id"):
        assert headers[name] == "thread-1"
    assert headers["accept"] == "text/event-stream"
    assert "authorization" not in headers


def test_configured_headers_and_query_are_sent(model_server, talk, make_request):
    request = sent(
        model_server,
        talk,
        make_request(),
        http_headers={"x-team": "blue", "originator": "mine"},
        env_http_headers={"x-key": "THE_KEY", "x-unset": "NO_SUCH_VARIABLE"},
        query_params={"api-version": "2026-01-01", "q": "a b&c"},
        environ={"THE_KEY": "secret-value"},
    )
    assert request.path == "/v1/responses?api-version=2026-01-01&q=a+b%26c"
    assert request.headers["x-team"] == "blue"
    assert request.headers["originator"] == "mine"
    assert request.headers["x-key"] == "secret-value"
    assert "x-unset" not in request.headers


def test_nothing_heavy_is_imported_on_the_way_to_a_plain_server(model_server):
    model_server.play([[message("x")]])
    program = f"""
import asyncio, sys
from pathlib import Path
from ferrule_hookspecs.plugins import PluginContext
from ferrule_responses.provider import ResponsesProvider
assert "anyio" not in sys.modules, "constructing the class costs nothing"
provider = ResponsesProvider(
    PluginContext(home=Path("."), config={{}}, settings={{"base_url": "{model_server.base_url}"}})
)
from ferrule_hookspecs.provider import ModelRequest
async def main():
    async for _ in provider.stream(ModelRequest("t", "u", "m", [], [])):
        pass
    await provider.aclose()
asyncio.run(main())
heavy = {{"httpx", "httpcore", "h11", "certifi", "pydantic", "rich", "click", "urllib.request"}}
print(sorted(heavy & set(sys.modules)))
"""
    environ = {"PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environ
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")
