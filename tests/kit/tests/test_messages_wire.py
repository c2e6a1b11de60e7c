"""What the scripted model says and refuses as a server of the Messages API."""

import http.client
import json
from contextlib import closing

import pytest

from ferrule_testkit.messages_rules import seal
from ferrule_testkit.model_items import freeform_call, function_call, message, reasoning

HEADERS = {"anthropic-version": "2023-06-01"}
CALL = {"type": "tool_use", "id": "c1", "name": "run", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "c1", "content": "x"}
THOUGHT = {"type": "thinking", "thinking": "hm", "signature": seal("hm")}


def text(words):
    return {"type": "text", "text": words}


def request(*contents, **more):
    """A request whose messages are the user's and the model's in turns."""
    roles = ("user", "assistant")
    messages = [
        {"role": roles[at % 2], "content": list(content)} for at, content in enumerate(contents)
    ]
    return {"model": "m", "max_tokens": 4096, "stream": True, "messages": messages, **more}


def ask(server, body, headers=HEADERS):
    client = http.client.HTTPConnection("127.0.0.1", server.port, timeout=120)
    with closing(client):
        client.request("POST", "/v1/messages", json.dumps(body), headers)
        with client.getresponse() as response:
            return response.status, response.read().decode()


def events_of(server, body=None):
    status, said = ask(server, body or request([text("hi")]))
    assert status == 200, said
    return [json.loads(block.split("\ndata: ")[1]) for block in said.strip().split("\n\n")]


def test_the_same_script_is_spoken_as_messages(model_server):
    items = [reasoning("why not"), message("two words"), function_call("run", {"cmd": "x" * 50})]
    model_server.play([[*items, freeform_call("edit", "text", call_id="call_2")]])
    events = events_of(model_server)
    starts = [each["content_block"] for each in events if each["type"] == "content_block_start"]
    assert [start["type"] for start in starts] == ["thinking", "text", "tool_use", "tool_use"]
    pieces = {}
    for each in events:
        if each["type"] == "content_block_delta":
            ((key, piece),) = [pair for pair in each["delta"].items() if pair[0] != "type"]
            place = (each["index"], key)
            pieces[place] = pieces.get(place, "") + piece
    assert pieces[0, "thinking"] == "why not"
    assert pieces[0, "signature"] == seal("why not")
    assert pieces[1, "text"] == "two words"
    assert json.loads(pieces[2, "partial_json"]) == {"cmd": "x" * 50}
    assert json.loads(pieces[3, "partial_json"]) == {"input": "text"}
    assert events[-2]["delta"]["stop_reason"] == "tool_use"
    assert events[-2]["usage"]["cache_read_input_tokens"] == 50
    assert events[-1]["type"] == "message_stop"


@pytest.mark.parametrize(
    ("turn", "last"),
    [
        ({"items": [message("a")], "incomplete": "max_output_tokens"}, "max_tokens"),
        ({"items": [message("a")], "end_turn": False}, "pause_turn"),
        ({"items": [message("a")]}, "end_turn"),
    ],
)
def test_a_message_says_why_it_stopped(model_server, turn, last):
    model_server.play([turn])
    assert events_of(model_server)[-2]["delta"]["stop_reason"] == last


def test_failures_are_spoken_as_messages_too(model_server):
    failed = {"code": "rate_limit_exceeded", "message": "slow"}
    model_server.play([{"items": [message("a")], "failed": failed}, {"status": 429, "body": {}}])
    error = {"type": "rate_limit_error", "message": "slow"}
    assert events_of(model_server)[-1] == {"type": "error", "error": error}
    assert ask(model_server, request([text("hi")])) == (429, "{}")


@pytest.mark.parametrize(
    "body",
    [
        request([text("a")], [text("b")], [text("c")]),
        request([text("a")], [THOUGHT, CALL], [RESULT, text("b")]),
        request([text("a")], [THOUGHT, CALL], [RESULT], thinking={"type": "adaptive"}),
        request([text("a")], system="be brief", output_config={"effort": "low"}),
    ],
)
def test_well_formed_requests_are_answered(model_server, body):
    model_server.play([[message("ok")]])
    assert ask(model_server, body)[0] == 200


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ({"model": "m", "messages": []}, "max_tokens: Field required"),
        (request(), "at least one message"),
        (request([text("a")], temprature=1), "temprature: Extra inputs"),
        ({**request([text("a")]), "messages": [{"role": "assistant"}]}, "roles must alternate"),
        (request([text("a")], [text("b")]), "must end with a user message"),
        (request([]), "content must not be empty"),
        (request([text(" ")]), "non-whitespace text"),
        (request([text("a")], [CALL], [text("b")]), "without `tool_result` blocks"),
        (request([text("a")], [CALL], [text("b"), RESULT]), "must come first"),
        (request([text("a")], [CALL], [RESULT, RESULT]), "a single result"),
        (request([RESULT]), "unexpected `tool_use_id`"),
        (request([text("a")], [CALL, CALL], [RESULT]), "ids must be unique"),
        (request([text("a")], [{**CALL, "id": "c|1"}], [RESULT]), "should match pattern"),
        (request([text("a")], [{**THOUGHT, "thinking": "x"}, CALL], [RESULT]), "Invalid `sig"),
        (request([text("a")], [text("b"), THOUGHT], [text("c")]), "cannot be `thinking`"),
        (request([text("a")], tools=[{"name": "a b", "input_schema": {}}]), "should match"),
        (
            request([text("a")], tools=[{"name": "a", "input_schema": {"type": "object"}}] * 2),
            "must be unique",
        ),
        (request([text("a")], tool_choice={"type": "auto"}), "only be given with tools"),
        (
            request(
                [text("a")],
                [CALL],
                [RESULT],
                thinking={"type": "enabled", "budget_tokens": 1024},
            ),
            "must start with a thinking block",
        ),
        (
            request([text("a")], thinking={"type": "enabled", "budget_tokens": 4096}),
            "must be greater",
        ),
        (request([{**text(str(n)), "cache_control": {}} for n in range(5)]), "maximum of 4 blocks"),
    ],
)
def test_malformed_requests_are_refused_and_use_up_no_turn(model_server, body, complaint):
    model_server.play([[message("ok")]])
    status, said = ask(model_server, body)
    error = json.loads(said)["error"]
    assert (status, error["type"]) == (400, "invalid_request_error")
    assert complaint in error["message"]
    assert ask(model_server, request([text("hi")]))[0] == 200


def test_the_version_of_the_api_must_be_named(model_server):
    status, said = ask(model_server, request([text("hi")]), {})
    assert status == 400
    assert "anthropic-version" in said
