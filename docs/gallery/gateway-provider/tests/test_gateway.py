"""The contract of model providers, and sessions that talk through the gateway."""

from pathlib import Path

import pytest

from ferrule_testkit import ProviderConformance
from ferrule_testkit.model_items import freeform_call, function_call, message
from gallery_gateway.messages import messages
from gallery_gateway.provider import GatewayProvider

CHECKOUT = str(Path(__file__).parents[1])
PATCH = "*** Begin Patch\n*** Add File: new.txt\n+hello\n*** End Patch\n"


class TestGatewayProvider(ProviderConformance):
    """Every rule of the contract, tried on this provider with a scripted server."""

    speaks_to = "chat"
    keeps_reasoning = False

    def make(self, context):
        """Return the provider."""
        return GatewayProvider(context)


@pytest.fixture
def run(ferrule_home, run_ferrule):
    """Run a session whose model is behind the gateway."""

    def run(tables=""):
        ferrule_home.configure(wire_api="gateway", tables=tables)
        finished = run_ferrule("--dev-plugin", CHECKOUT, "exec", "--json", "go")
        assert finished.returncode == 0, finished.stderr
        return finished

    return run


def test_a_session_talks_through_it(run, model_server, ferrule_home):
    calls = [function_call("exec_command", {"cmd": "echo hi"}, call_id="a")]
    calls.append(freeform_call("apply_patch", PATCH, call_id="b"))
    model_server.play([calls, [message("done")]])

    finished = run('[plugins.settings.gateway]\nteam = "payments"\n')

    assert finished.items("command_execution")[0]["aggregated_output"] == "hi\n"
    assert (ferrule_home.workspace / "new.txt").read_text() == "hello\n"
    assert finished.items("agent_message")[-1]["text"] == "done"
    assert finished.events[-1]["usage"]["input_tokens"] > 0
    first, second = model_server.requests
    assert first.headers["x-team"] == "payments"
    assert [tool["type"] for tool in first.body["tools"]][:1] == ["function"]
    assert second.body["messages"][: len(first.body["messages"])] == first.body["messages"]
    said, *outputs = second.body["messages"][-3:]
    assert [call["id"] for call in said["tool_calls"]] == ["a", "b"]
    assert [output["tool_call_id"] for output in outputs] == ["a", "b"]


@pytest.mark.slow
def test_what_may_pass_is_tried_again(run, model_server):
    model_server.play([{"status": 503, "headers": {"retry-after": "0"}}, [message("done")]])

    assert run().items("agent_message")[0]["text"] == "done"
    assert len(model_server.requests) == 2


def test_an_image_goes_along_as_a_part_of_its_message():
    content = [
        {"type": "input_text", "text": "what is it?"},
        {"type": "input_image", "image_url": "data:image/png;base64,AAAA"},
    ]
    (written,) = messages([{"type": "message", "role": "user", "content": content}])

    assert written["content"] == [
        {"type": "text", "text": "what is it?"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
    ]
