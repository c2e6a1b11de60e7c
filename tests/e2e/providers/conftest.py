"""The ways a provider may talk to its model; one row adds one to every test of this folder."""

import json
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from ferrule_testkit.model_items import message


def as_they_are(items):
    """A model that calls tools by the means of its API."""
    return items


def in_plain_text(items):
    """A model that writes its calls into its message, as it was told to."""
    thoughts = [item for item in items if item["type"] == "reasoning"]
    texts = [_text(item) for item in items if item["type"] == "message"]
    blocks = [_block(item) for item in items if "call_id" in item]
    return [*thoughts, message("\n\n".join([*texts, *blocks]))]


def _text(item):
    return "".join(part["text"] for part in item["content"])


def _block(call):
    if call["type"] == "custom_tool_call":
        return f"```tool {call['name']}\n{call['input']}\n```"
    body = {"name": call["name"], "arguments": json.loads(call["arguments"])}
    return f"```tool\n{json.dumps(body)}\n```"


@dataclass(frozen=True)
class Wire:
    """One way: an API, what the provider's table says, and how the model writes its items.

    Reasoning that comes raw, not as a summary, is not shown.
    """

    name: str
    wire_api: str
    table: str = ""
    spoken: Callable = as_they_are
    is_reasoning_raw: bool = False


WIRES = (
    Wire("responses-http", "responses"),
    Wire("responses-websocket", "responses", "supports_websockets = true"),
    Wire("chat", "chat", is_reasoning_raw=True),
    Wire("chat-text", "chat", 'settings.quirks.tool_calls = "text"', in_plain_text, True),
    Wire("messages", "anthropic"),
)


@pytest.fixture(params=WIRES, ids=lambda wire: wire.name)
def wire(request, ferrule_home):
    """Each way in turn; the home is configured for it."""
    ferrule_home.configure(wire_api=request.param.wire_api, provider=request.param.table)
    return request.param


@pytest.fixture
def play(model_server, wire):
    """Have the model say a script; turns that are lists are written as the wire has it."""

    def run(*turns):
        model_server.play([wire.spoken(turn) if isinstance(turn, list) else turn for turn in turns])

    return run


@pytest.fixture
def heard(model_server):
    """The whole input of each request so far, as text, over whatever wire it came."""

    def run():
        over_http = [json.dumps(each.body, ensure_ascii=False) for each in model_server.requests]
        over_websocket = [
            json.dumps(each.whole_input, ensure_ascii=False) for each in model_server.messages
        ]
        return over_http + over_websocket

    return run
