"""Questions that are no approvals: of the model, and of MCP servers that a thread uses."""

import sys
from pathlib import Path

from mcp_types import ElicitResult

from ferrule_testkit.model_items import function_call, message

SERVER = '''
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
