"""Tools that take plain text, for models that know only functions."""

import pytest

from ferrule_hookspecs.models import ModelInfo
from ferrule_hookspecs.provider import ItemAdded, ItemDone
from ferrule_hookspecs.tools import FreeformSchema, FunctionSchema
from ferrule_testkit.model_items import freeform_call, function_call, message

PATCH = FreeformSchema("patch", "Patches.", "lark", "start: /x/")
TOOLS = [FunctionSchema("run", "Runs.", {"type": "object", "properties": {}}), PATCH]
SIMPLE = ModelInfo("simple", freeform_tools=False)
CALL = function_call("patch", {"input": "the text"})
AS_TOOL = {**freeform_call("patch", "the text"), "id": "fc_call_1"}
OUTPUT = {"type": "custom_tool_call_output", "call_id": "call_1", "output": "done"}


@pytest.fixture(params=[False, True], ids=["http", "websocket"])
def way(request):
    return {"supports_websockets": request.param}


@pytest.mark.parametrize("info", [None, ModelInfo("able", freeform_tools=True)])
def test_a_model_that_takes_them_or_is_unknown_gets_them_as_they_are(
    model_server, talk, make_request, info
):
    talk(make_request(tools=TOOLS, input=[AS_TOOL, OUTPUT], model_info=info))
    body = model_server.requests[0].body
    assert body["tools"][1]["type"] == "custom"
    assert body["input"] == [AS_TOOL, OUTPUT]


def test_any_other_gets_a_function_with_one_string(model_server, talk, make_request):
    talk(make_request(tools=TOOLS, model_info=SIMPLE))
    plain, disguised = model_server.requests[0].body["tools"]
    assert plain["name"] == "run"
    assert (disguised["type"], disguised["name"]) == ("function", "patch")
    assert disguised["description"].startswith("Patches.")
    assert "start: /x/" in disguised["description"]
    assert disguised["parameters"]["required"] == list(disguised["parameters"]["properties"])


def test_its_calls_reach_the_tool_as_plain_text(model_server, talk, make_request, way):
    other = function_call("run", {"input": "not this one"}, call_id="other")
    model_server.play([[CALL, other]])
    heard = talk(make_request(tools=TOOLS, model_info=SIMPLE), **way)
    assert [event.item for event in heard.of(ItemDone)] == [AS_TOOL, other]
    assert heard.of(ItemAdded)[0].item == AS_TOOL


@pytest.mark.parametrize(
    ("arguments", "text"),
    [("no JSON", "no JSON"), ('{"patch": "x"}', "x"), ('"x"', "x"), ("", "")],
)
def test_arguments_that_are_not_as_asked_for_are_read_all_the_same(
    model_server, talk, make_request, arguments, text
):
    model_server.play([[{**CALL, "arguments": arguments}]])
    heard = talk(make_request(tools=TOOLS, model_info=SIMPLE))
    assert heard.of(ItemDone)[0].item == {**AS_TOOL, "input": text}


def test_earlier_calls_and_outputs_are_sent_as_those_of_functions(
    model_server, talk, make_request, way
):
    model_server.play([[CALL], [message("ok")]])
    first = make_request(tools=TOOLS, model_info=SIMPLE)
    second = first._replace(input=[AS_TOOL, OUTPUT])
    talk(first, second, **way)
    given = (model_server.requests or model_server.messages)[-1]
    output = {**OUTPUT, "type": "function_call_output"}
    assert list(given.whole_input or given.body["input"]) == [CALL, output]
    if way["supports_websockets"]:
        assert given.body["input"] == [output]
