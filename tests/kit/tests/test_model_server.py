"""What the scripted model says on the wire."""

import http.client
import json
import subprocess
import sys
import time
from contextlib import closing

import pytest

from ferrule_testkit.model_items import freeform_call, function_call, message, reasoning


def connect(server):
    return closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=120))


def ask_over(client, text="hello"):
    """Send a request; return the status and the body's text."""
    body = json.dumps({"model": "m", "input": [{"content": text}]})
    client.request("POST", "/v1/responses", body, {"content-type": "application/json"})
    with client.getresponse() as response:
        return response.status, response.read().decode()


def ask(server, text="hello"):
    with connect(server) as client:
        return ask_over(client, text)


def events_of(text):
    return [json.loads(block.split("\ndata: ")[1]) for block in text.strip().split("\n\n")]


def types_of(text):
    return [event["type"] for event in events_of(text)]


def test_a_message_streams_word_by_word_and_ends_with_usage(model_server):
    model_server.play([[message("two words")]])
    events = events_of(ask(model_server)[1])
    assert [event["type"].removeprefix("response.") for event in events] == [
        "created",
        "output_item.added",
        "output_text.delta",
        "output_text.delta",
        "output_item.done",
        "completed",
    ]
    assert [event["delta"] for event in events if "delta" in event] == ["two ", "words"]
    assert events[-1]["response"]["usage"]["input_tokens"] == 100


def test_calls_and_reasoning_are_items_too(model_server):
    items = [reasoning("why"), function_call("run", {"a": 1}), freeform_call("edit", "x")]
    model_server.play([items])
    done = [event["item"] for event in events_of(ask(model_server)[1]) if "done" in event["type"]]
    assert done == items


def test_turns_are_played_in_order_and_their_end_is_said(model_server):
    model_server.play([{"items": [message("a")], "times": 2}, [message("b")]])
    answers = [ask(model_server)[1] for _ in range(4)]
    assert ['"text": "a"' in answer for answer in answers] == [True, True, False, False]
    assert "script exhausted" in answers[3]


def test_a_route_answers_requests_that_contain_its_text(model_server):
    model_server.play(
        {
            "turns": [[message("plain")]],
            "routes": [{"contains": "special", "turns": [[message("routed")]]}],
        }
    )
    assert "routed" in ask(model_server, "something special")[1]
    assert "plain" in ask(model_server, "something special")[1]


def test_an_item_can_quote_the_request(model_server):
    model_server.play([[message("{{re:session (\\d+)}}")]])
    assert '"text": "42"' in ask(model_server, "session 41, session 42")[1]


@pytest.mark.parametrize(
    ("turn", "last"),
    [
        ({"items": [], "failed": {"code": "x"}}, "response.failed"),
        ({"items": [], "incomplete": "max_output_tokens"}, "response.incomplete"),
        ({"items": [], "no_completed": True}, "response.created"),
        ({"events": [{"type": "custom"}]}, "custom"),
    ],
    ids=["failed", "incomplete", "no-completed", "raw-events"],
)
def test_a_stream_can_end_badly(model_server, turn, last):
    model_server.play([turn])
    assert types_of(ask(model_server)[1])[-1] == last


def test_a_status_answers_without_a_stream(model_server):
    turn = {"status": 429, "headers": {"retry-after": "2"}, "body": {"error": {"message": "slow"}}}
    model_server.play([turn])
    assert ask(model_server) == (429, '{"error": {"message": "slow"}}')


def test_a_cut_stream_stops_after_that_many_events(model_server):
    model_server.play([{"items": [message("one two three")], "cut_after": 3}])
    with pytest.raises(http.client.IncompleteRead) as caught:
        ask(model_server)
    assert len(events_of(caught.value.partial.decode())) == 3


def test_a_dropped_connection_gives_no_answer(model_server):
    model_server.play([{"drop": True}])
    with pytest.raises((http.client.RemoteDisconnected, ConnectionResetError)):
        ask(model_server)


def test_requests_are_recorded(model_server):
    model_server.play([[message("a")], [message("b")]])
    with connect(model_server) as client:
        ask_over(client, "first")
        ask_over(client, "second")
    first, second = model_server.requests
    assert (first.method, first.path, first.body["model"]) == ("POST", "/v1/responses", "m")
    assert first.headers["content-type"] == "application/json"
    assert first.connection == second.connection
    assert first.at <= second.at


def test_closing_ends_a_hanging_stream(model_server):
    model_server.play([{"items": [message("a")], "hang": True}])
    with connect(model_server) as client:
        client.request("POST", "/v1/responses", "{}")
        with client.getresponse() as response:
            response.read1(10)
            model_server.close()
            with pytest.raises(http.client.IncompleteRead):
                response.read()


def test_many_deltas_are_written_out_before_they_are_asked_for(model_server):
    model_server.play([{"deltas": {"count": 20_000, "text": "ab "}}])
    started = time.process_time()
    text = ask(model_server)[1]
    seconds = time.process_time() - started
    assert text.count("output_text.delta\n") == 20_000
    assert seconds < 2, "the stream is made while it is sent"


def test_it_runs_as_a_program(tmp_path):
    script = tmp_path / "script.json"
    script.write_text(json.dumps([[message("from a file")]]))
    command = [sys.executable, "-m", "ferrule_testkit.model_server", str(script), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        port = int(process.stdout.readline())
        with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=120)) as client:
            _, answer = ask_over(client)
        process.terminate()
    assert "from a file" in answer


def ask_chat(server, text="hello"):
    with connect(server) as client:
        body = json.dumps({"model": "m", "messages": [{"role": "user", "content": text}]})
        client.request("POST", "/v1/chat/completions?v=1", body)
        with client.getresponse() as response:
            return response.status, response.read().decode()


def chunks_of(text):
    blocks = text.strip().split("\n\n")
    assert blocks[-1] == "data: [DONE]"
    return [json.loads(block.removeprefix("data: ")) for block in blocks[:-1]]


def deltas_of(text, key):
    choices = [chunk["choices"][0] for chunk in chunks_of(text) if chunk["choices"]]
    return [choice["delta"][key] for choice in choices if choice["delta"].get(key)]


def test_the_same_script_is_spoken_as_chat_completions(model_server):
    long_argument = {"cmd": "x" * 50}
    items = [reasoning("why"), message("two words"), function_call("run", long_argument)]
    model_server.play([[*items, freeform_call("edit", "text", call_id="call_2")]])
    _, text = ask_chat(model_server)
    assert deltas_of(text, "reasoning_content") == ["why"]
    assert deltas_of(text, "content") == ["two ", "words"]
    calls = {}
    for (delta,) in deltas_of(text, "tool_calls"):
        call = calls.setdefault(delta["index"], {"name": "", "arguments": ""})
        for key, piece in delta["function"].items():
            call[key] += piece
    assert [call["name"] for call in calls.values()] == ["run", "edit"]
    assert json.loads(calls[0]["arguments"]) == long_argument
    assert json.loads(calls[1]["arguments"]) == {"input": "text"}
    assert chunks_of(text)[-2]["choices"][0]["finish_reason"] == "tool_calls"
    assert chunks_of(text)[-1]["usage"]["prompt_tokens"] == 100


def test_failures_are_spoken_as_chat_completions_too(model_server):
    model_server.play(
        [
            {"items": [message("a")], "incomplete": "max_output_tokens"},
            {"status": 429, "body": {"error": {"message": "slow"}}},
            {"items": [message("a")], "failed": {"message": "boom"}},
            {"deltas": {"count": 100, "text": "w ", "per_chunk": 10}},
        ]
    )
    assert chunks_of(ask_chat(model_server)[1])[-2]["choices"][0]["finish_reason"] == "length"
    assert ask_chat(model_server) == (429, '{"error": {"message": "slow"}}')
    assert ask_chat(model_server)[1].endswith('data: {"error": {"message": "boom"}}\n\n')
    assert "".join(deltas_of(ask_chat(model_server)[1], "content")) == "w " * 100
