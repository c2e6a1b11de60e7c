"""Questions that are no approvals: of the model, and of MCP servers that a thread uses."""

import json
import sys
from pathlib import Path

from mcp_types import ElicitResult

from ferrule_testkit.model_items import function_call, message

SERVER = '''
import json
import sys
from mcp.server.mcpserver import Context, MCPServer
from pydantic import BaseModel

server = MCPServer("asker")

class Colour(BaseModel):
    colour: str

@server.tool()
async def paint(context: Context) -> str:
    """Paint it."""
    said = await context.elicit("Which colour?", Colour)
    return f"{said.action}:{said.data.colour}" if said.action == "accept" else said.action

server.run("stdio")
'''


def outputs(stage):
    return [
        item["output"]
        for item in stage.model.requests[-1].body["input"]
        if item["type"] == "function_call_output"
    ]


def test_what_a_server_of_the_thread_asks_reaches_the_client(stage, tmp_path):
    file = Path(tmp_path) / "asker.py"
    file.write_text(SERVER)
    stage.home.configure(
        top="mcp_optional_startup_grace_ms = 60000\n",
        tables=(
            f'[mcp_servers.asker]\ncommand = "{sys.executable}"\nargs = ["{file}"]\n'
            'trusted = true\ndefault_tools_approval_mode = "approve"\n'
        ),
    )
    stage.play([function_call("mcp__asker__paint", {})], "done")
    asked = []

    async def elicit(context, params):
        asked.append(params)
        return ElicitResult(action="accept", content={"colour": "green"})

    async def conversation(client):
        result = await client.call_tool(
            "codex", {"prompt": "go", "approval-policy": "on-request"}
        )  # fmt: skip
        assert result.structured_content["content"] == "done"

    stage.talk(conversation, mode="legacy", elicitation_callback=elicit)
    (question,) = asked
    assert question.message == "Which colour?"
    assert list(question.requested_schema["properties"]) == ["colour"]
    assert any("accept:green" in str(output) for output in outputs(stage))


def test_an_agent_that_the_thread_started_asks_the_same_client(stage, escalated):
    agent_id = "{{re:agent_id[^0-9a-f]+([0-9a-f-]{36})}}"
    wait = {"targets": [agent_id], "timeout_ms": 600_000}
    stage.model.play(
        {
            "turns": [
                [function_call("spawn_agent", {"message": "errand"}, call_id="call_spawn")],
                [function_call("wait_agent", wait, call_id="call_wait")],
                [message("done")],
            ],
            "routes": [
                {"contains": '"text":"errand', "turns": [escalated, [message("errand is run")]]}
            ],
        }
    )
    elicit = stage.say("accept", decision="approved")

    async def conversation(client):
        arguments = {"prompt": "go", "approval-policy": "on-request"}
        result = await client.call_tool("codex", arguments)
        assert result.structured_content["content"] == "done"

    stage.talk(conversation, mode="legacy", elicitation_callback=elicit)
    (asked,) = stage.asked
    assert "echo hi > approved.txt" in asked.message
    assert (stage.home.workspace / "approved.txt").exists()
    assert any("errand is run" in str(output) for output in outputs(stage))


def test_the_model_asks_the_user_by_a_form(stage):
    question = {
        "id": "colour",
        "header": "Colour",
        "question": "Which colour?",
        "options": [
            {"label": "red", "description": "like a rose"},
            {"label": "green", "description": "like grass"},
        ],
    }
    stage.play([function_call("request_user_input", {"questions": [question]})], "done")
    elicit = stage.say("accept", colour="green")

    async def conversation(client):
        settings = {"features.default_mode_request_user_input": True}
        result = await client.call_tool("codex", {"prompt": "go", "config": settings})
        assert result.structured_content["content"] == "done"

    stage.talk(conversation, mode="2026-07-28", elicitation_callback=elicit)
    (asked,) = stage.asked
    assert asked.message == "Which colour?"
    assert asked.requested_schema["required"] == ["colour"]
    assert "green: like grass" in str(asked.requested_schema["properties"]["colour"])
    (output,) = outputs(stage)
    assert json.loads(output) == {"answers": {"colour": {"answers": ["green"]}}}


def test_a_tool_that_needs_somebody_is_kept_from_threads_without(stage):
    stage.play("done")

    async def conversation(client):
        settings = {"features.default_mode_request_user_input": True}
        await client.call_tool("codex", {"prompt": "go", "config": settings})

    stage.talk(conversation, mode="legacy")
    offered = [tool.get("name") for tool in stage.model.requests[0].body["tools"]]
    assert "exec_command" in offered
    assert "request_user_input" not in offered


def test_permissions_are_granted_or_not(stage):
    permissions = {"network": {"enabled": True}, "file_system": {"write": ["/opt"]}}
    call = function_call("request_permissions", {"permissions": permissions, "reason": "to build"})

    def run(action, **content):
        stage.play([call], "done")

        async def conversation(client):
            settings = {"features.request_permissions_tool": True}
            arguments = {"prompt": "go", "approval-policy": "on-request", "config": settings}
            await client.call_tool("codex", arguments)

        elicit = stage.say(action, **content)
        stage.talk(conversation, mode="legacy", elicitation_callback=elicit)
        return str(outputs(stage))

    assert "/opt" in run("accept", decision="approved_for_session")
    assert "/opt" not in run("decline")
    assert len(stage.asked) == 2
    assert "to build" in stage.asked[0].message
    assert "write /opt" in stage.asked[0].message
    assert "network" in stage.asked[0].message
