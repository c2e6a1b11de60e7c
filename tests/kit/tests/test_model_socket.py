"""The WebSocket side of the scripted model, for a client that knows nothing of ours."""

import contextlib
import json

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from ferrule_testkit.model_items import message


@contextlib.contextmanager
def opened(server):
    url = server.base_url.replace("http", "ws") + "/responses"
    with connect(url, max_size=None, proxy=None) as socket:
        yield socket


def ask(socket, *items, **fields):
    """Send a request; the messages of its answer."""
    socket.send(json.dumps({"type": "response.create", "input": list(items), **fields}))
    events = []
    while not events or events[-1]["type"] not in ("response.completed", "error"):
        events.append(json.loads(socket.recv()))
    return events


def test_an_answer_has_the_events_of_the_stream(model_server):
    model_server.play([[message("two words")]])
    with opened(model_server) as socket:
        kinds = [event["type"] for event in ask(socket, {"role": "user"})]
    assert kinds == [
        "response.created",
        "response.output_item.added",
        "response.output_text.delta",
        "response.output_text.delta",
        "response.output_item.done",
        "response.completed",
    ]
    assert model_server.requests == []


def test_the_last_response_of_the_connection_is_remembered_with_its_answer(model_server):
    model_server.play([[message("a")], [message("b")]])
    with opened(model_server) as socket:
        first = ask(socket, {"n": 1})[-1]["response"]["id"]
        ask(socket, {"n": 2}, previous_response_id=first)
    assert [len(each.body["input"]) for each in model_server.messages] == [1, 1]
    assert model_server.messages[1].whole_input == [{"n": 1}, message("a"), {"n": 2}]


@pytest.mark.parametrize("case", ["made-up", "older", "after-a-failure", "other-connection"])
def test_any_other_response_is_unknown(model_server, case):
    turn = {"status": 500} if case == "after-a-failure" else [message("b")]
    model_server.play([[message("a")], turn, [message("c")]])
    with opened(model_server) as socket, opened(model_server) as other:
        first = ask(socket, {"n": 1})[-1]["response"]["id"]
        if case in ("older", "after-a-failure"):
            ask(socket, {"n": 2})
        asked = other if case == "other-connection" else socket
        named = "resp_made_up" if case == "made-up" else first
        (error,) = ask(asked, {"n": 3}, previous_response_id=named)
        assert error["error"]["code"] == "previous_response_not_found"
        assert ask(asked, {"n": 3})[-1]["type"] == "response.completed"


def test_a_warm_up_takes_no_turn_and_can_be_gone_on_from(model_server):
    model_server.play([[message("a")]])
    with opened(model_server) as socket:
        (created, completed) = ask(socket, {"n": 1}, generate=False)
        assert created["type"] == "response.created"
        answer = ask(socket, {"n": 2}, previous_response_id=completed["response"]["id"])
    assert answer[-2]["item"] == message("a")
    assert model_server.messages[1].whole_input == [{"n": 1}, {"n": 2}]


def test_a_status_is_a_message_and_the_connection_goes_on(model_server):
    model_server.play([{"status": 429, "body": {"error": {"code": "slow"}}}, [message("a")]])
    with opened(model_server) as socket:
        (error,) = ask(socket, {"n": 1})
        assert (error["status"], error["error"]) == (429, {"code": "slow"})
        assert ask(socket, {"n": 1})[-1]["type"] == "response.completed"


@pytest.mark.parametrize("turn", [{"drop": True}, {"close": 1009}, {"cut_after": 0, "items": []}])
def test_a_connection_can_be_cut(model_server, turn):
    model_server.play([turn])
    with opened(model_server) as socket, pytest.raises(ConnectionClosed) as closed:
        ask(socket, {"n": 1})
    assert closed.value.rcvd is None or closed.value.rcvd.code == turn["close"]


def test_upgrades_can_be_refused(model_server):
    model_server.refuse_upgrades(426)
    with pytest.raises(InvalidStatus), opened(model_server):
        pass
    assert model_server.upgrades[0].path == "/v1/responses"


def test_other_paths_have_no_websocket(model_server):
    url = model_server.base_url.replace("http", "ws") + "/chat/completions"
    with pytest.raises(InvalidStatus), connect(url, proxy=None):
        pass
