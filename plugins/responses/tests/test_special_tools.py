"""Tools that the API has forms of its own for, and histories that hold searches for tools."""

import pytest

from ferrule_hookspecs.models import ModelInfo
from ferrule_hookspecs.tools import FunctionSchema, HostedSchema, SearchSchema
from ferrule_responses.provider import ResponsesProvider
from ferrule_testkit.model_items import message

PARAMETERS = {"type": "object", "properties": {"query": {"type": "string"}}}
USER = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]}
SEARCH = {
    "type": "tool_search_call",
    "id": "tsc_1",
    "call_id": "s1",
    "status": "completed",
    "execution": "client",
    "arguments": {"query": "echo"},
}
FOUND = {
    "type": "tool_search_output",
    "call_id": "s1",
    "status": "completed",
    "execution": "client",
    "tools": [{"type": "namespace", "name": "mcp__demo", "description": "", "tools": []}],
}
CALL = {
    "type": "function_call",
    "call_id": "c1",
    "name": "echo",
    "namespace": "mcp__demo",
    "arguments": "{}",
}
OUTPUT = {"type": "function_call_output", "call_id": "c1", "output": "echoed"}
HISTORY = [USER, SEARCH, FOUND, CALL, OUTPUT]


@pytest.fixture
def body(model_server, talk, make_request):
    """Send a request; returns its body."""

    def send(**changes):
        model_server.play([[message("ok")]])
        talk(make_request(**changes))
        return model_server.requests[-1].body

    return send


def test_special_tools_stand_behind_the_others_in_the_api_s_forms(body):
    sent = body(
        tools=(FunctionSchema("run", "Runs.", {"type": "object"}),),
        special_tools=(
            SearchSchema("tool_search", "Finds.", PARAMETERS),
            HostedSchema("web_search", {"external_web_access": False}),
        ),
    )

    assert [tool["type"] for tool in sent["tools"]] == ["function", "tool_search", "web_search"]
    assert sent["tools"][1] == {
        "type": "tool_search",
        "execution": "client",
        "description": "Finds.",
        "parameters": PARAMETERS,
    }
    assert sent["tools"][2] == {"type": "web_search", "external_web_access": False}


def test_a_model_that_reads_images_may_be_shown_them_by_a_search(body):
    info = ModelInfo("gpt-5.5", freeform_tools=True, searches_images=True)

    sent = body(special_tools=(HostedSchema("web_search", {}),), model_info=info)

    assert sent["tools"] == [{"type": "web_search", "search_content_types": ["text", "image"]}]


@pytest.mark.parametrize(
    ("status", "said", "is_explained"),
    [
        (400, "'type' of tool must be 'function'", True),
        (400, "Unknown tool type: web_search", True),
        (400, "the model is not there", False),
        (400, "No tool output found for function call call_1", False),
        (401, "tools need a key", False),
    ],
)
def test_a_server_that_knows_no_such_tools_is_explained(
    model_server, talk, make_request, status, said, is_explained
):
    model_server.play([{"status": status, "body": {"error": {"message": said}}}])

    failure = talk(make_request(special_tools=(HostedSchema("web_search", {}),))).error

    assert said in str(failure) + str(failure.details)
    assert ('set `web_search = "disabled"`' in str(failure)) is is_explained


def test_the_provider_says_which_it_has():
    assert set(ResponsesProvider.special_tools) == {"tool_search", "web_search"}


@pytest.mark.parametrize(
    "info",
    [None, ModelInfo("gpt-5.5", freeform_tools=True, tool_search=True)],
    ids=["unknown model", "model that searches"],
)
def test_a_search_in_the_history_is_sent_as_it_was(body, info):
    assert body(input=HISTORY, model_info=info)["input"] == HISTORY


def test_a_model_that_cannot_search_reads_of_calls_alone(body):
    sent = body(input=HISTORY, model_info=ModelInfo("gpt-4.1", freeform_tools=True))

    flat = {"type": "function_call", "call_id": "c1", "name": "mcp__demo__echo", "arguments": "{}"}
    assert sent["input"] == [USER, flat, OUTPUT]
