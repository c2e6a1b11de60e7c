"""Threads that another provider has served before."""

import pytest

from ferrule_testkit.model_items import function_call, message, reasoning

OWN = [reasoning("why"), message("hello"), function_call("run", {})]
OUTPUT = {"type": "function_call_output", "call_id": "call_1", "output": "done"}
RAW = {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "hm"}]}


@pytest.fixture
def given(model_server, talk, make_request):
    def run(*history):
        talk(make_request(input=list(history)))
        return model_server.requests[-1].body["input"]

    return run


def test_own_items_are_sent_as_they_came(given):
    assert given(*OWN, OUTPUT) == [*OWN, OUTPUT]


def test_raw_reasoning_of_a_server_of_this_api_is_kept(given):
    assert given({**RAW, "id": "rs_1"}) == [{**RAW, "id": "rs_1"}]


@pytest.mark.parametrize(
    "item",
    [
        pytest.param(RAW, id="raw"),
        pytest.param({**RAW, "reasoning_details": [{"x": 1}]}, id="with-details"),
        pytest.param({**reasoning("x"), "encrypted_content": "anthropic-block:{}"}, id="sealed"),
        pytest.param({**RAW, "encrypted_content": None}, id="null"),
    ],
)
def test_reasoning_of_another_api_is_left_out(given, item):
    assert given(message("a"), item, message("b")) == [message("a"), message("b")]


def test_ids_and_keys_of_another_api_are_left_out(given):
    call = {**function_call("run", {}), "id": "fc_01Ab.2", "extra_content": {"google": {}}}
    said = message("hello", id_="msg_01Ab.1")
    sent_message, sent_call, sent_output = given(said, call, OUTPUT)
    assert sent_message == {key: value for key, value in said.items() if key != "id"}
    assert set(sent_call) == {"type", "call_id", "name", "arguments"}
    assert sent_output == OUTPUT


def test_a_websocket_goes_on_from_a_history_that_is_partly_foreign(
    model_server, talk, make_request
):
    model_server.play([[*OWN], [message("ok")]])
    history = [RAW, message("before", id_="msg.1")]
    talk(
        make_request(input=history),
        make_request(input=[*history, *OWN, OUTPUT]),
        supports_websockets=True,
    )
    assert model_server.messages[1].body["input"] == [OUTPUT]
