"""`request_user_input`: what the client is asked, and what the model reads."""

import json
from pathlib import Path
from types import SimpleNamespace

import anyio
import pytest

from ferrule_hookspecs.errors import ToolArgumentError, ToolError
from ferrule_hookspecs.plugins import PluginContext
from ferrule_hookspecs.tools import ToolCall
from ferrule_plan.questions import RequestUserInput

OPTIONS = [{"label": "A", "description": "a"}, {"label": "B", "description": "b"}]
QUESTION = {"id": "q1", "header": "Pick", "question": "Which?", "options": OPTIONS}


def tool(settings=None, **features) -> RequestUserInput:
    config = {"features": features}
    return RequestUserInput(PluginContext(Path("/nowhere"), config, settings=settings or {}))


def ask(client, settings=None, **question):
    """Run the tool with a client; returns its result."""
    made = tool(settings)
    arguments = made.normalize({"questions": [{**QUESTION, **question}]})
    call = ToolCall("call_1", made.name, arguments, json.dumps(arguments), "function")
    context = SimpleNamespace(thread_id="t", turn_id="u", ask_client=client)
    return anyio.run(made.run, call, context)


def test_the_user_is_asked_and_the_model_reads_the_answers():
    asked = []

    async def client(request):
        asked.append(request)
        return {"answers": {"q1": {"answers": ["A"]}}}

    result = ask(client, extra="ignored")

    assert asked[0]["method"] == "item/tool/requestUserInput"
    assert asked[0]["params"] == {
        "threadId": "t",
        "turnId": "u",
        "itemId": "call_1",
        "questions": [{**QUESTION, "isOther": True, "isSecret": False}],
        "isBlocking": False,
    }
    assert json.loads(result.output) == {"answers": {"q1": {"answers": ["A"]}}}


def test_a_client_that_answers_nothing_is_told_to_the_model():
    async def client(request):
        return {}

    with pytest.raises(ToolError, match="decide yourself"):
        ask(client)


@pytest.mark.parametrize(
    ("answers", "read"),
    [
        ({"q1": {"answers": ["A", "and more"]}}, {"q1": {"answers": ["A", "and more"]}}),
        ({"q1": {"answers": ["none of these"]}, "q9": {"answers": ["x"]}}, None),
        ({"q1": {"answers": [1, "A"]}}, {"q1": {"answers": ["A"]}}),
        ({"q1": "A"}, {"q1": {"answers": []}}),
        ({}, {}),
    ],
    ids=["several", "other words, unasked question", "no text", "no list", "left open"],
)
def test_only_answers_to_what_was_asked_reach_the_model(answers, read):
    async def client(request):
        return {"answers": answers}

    expected = {"q1": {"answers": ["none of these"]}} if read is None else read
    assert json.loads(ask(client).output) == {"answers": expected}


def test_a_user_who_is_away_holds_nothing_up_where_a_time_is_set():
    asked = []

    async def client(request):
        asked.append(request["params"])
        await anyio.sleep_forever()

    with pytest.raises(ToolError, match=r"within 0\.02 s; decide yourself"):
        ask(client, settings={"timeout_sec": 0.02})
    assert asked[0]["autoResolutionMs"] == 20


@pytest.mark.parametrize("value", [0, -1, "5", True, float("nan"), float("inf")])
def test_a_time_that_makes_no_sense_is_named(value):
    async def client(request):
        raise AssertionError("nobody is asked")

    with pytest.raises(ToolError, match="timeout_sec"):
        ask(client, settings={"timeout_sec": value})


def test_it_shows_no_item_and_needs_a_client():
    assert tool().item(ToolCall("c", "t", {}, "{}", "function"), "/") is None
    assert RequestUserInput.needs_client


@pytest.mark.parametrize(
    ("features", "enabled"),
    [({}, False), ({"default_mode_request_user_input": True}, True)],
)
def test_it_is_offered_where_the_feature_is_on(features, enabled):
    assert tool(**features).is_enabled() is enabled


@pytest.mark.parametrize(
    "questions",
    [
        None,
        [],
        [QUESTION] * 2,
        [{**QUESTION, "id": str(number)} for number in range(4)],
        [{**QUESTION, "id": ""}],
        [{**QUESTION, "options": "A or B"}],
        [{**QUESTION, "options": [{"label": "A"}]}],
        ["Which?"],
    ],
    ids=["missing", "none", "same id", "four", "no id", "options", "option", "text"],
)
def test_wrong_questions_are_refused(questions):
    with pytest.raises(ToolArgumentError, match="failed to parse function arguments: questions"):
        tool().normalize({"questions": questions})
