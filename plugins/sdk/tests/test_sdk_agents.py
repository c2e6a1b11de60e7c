"""Approvals of agents reach whoever opened the thread they work for, and say who asks."""

import json

import pytest

from ferrule_sdk import CommandRequest, PatchRequest
from ferrule_testkit.model_items import freeform_call, function_call, message

ESCALATED = {
    "cmd": "touch ../outside",
    "sandbox_permissions": "require_escalated",
    "justification": "it is outside of the workspace",
}
PATCH = """\
*** Begin Patch
*** Add File: beside.txt
+remember
*** End Patch
"""
AGENT_ID = "{{re:agent_id[^0-9a-f]+([0-9a-f-]{36})}}"


@pytest.mark.parametrize("clients", ["in-process", "stdio"], indirect=True)
def test_questions_of_an_agent_come_with_its_lineage(clients, model_server, ferrule_home, run):
    asked = []

    def approve(request):
        asked.append(request)
        return "accept" if isinstance(request, CommandRequest) else "decline"

    async def main():
        async with clients(approvals=approve) as f:
            thread = await f.thread(approval_policy="untrusted")
            turn = await thread.run("Delegate it")
            return thread.id, turn

    spawn = function_call("spawn_agent", {"message": "TASK-A"}, call_id="spawn")
    wait = {"targets": [AGENT_ID], "timeout_ms": 600_000}
    model_server.play(
        {
            "turns": [
                [spawn],
                [function_call("wait_agent", wait, call_id="wait")],
                [message("It is done")],
            ],
            "routes": [
                {
                    "contains": '"text":"TASK-A',
                    "turns": [
                        [function_call("exec_command", ESCALATED, call_id="touch")],
                        [freeform_call("apply_patch", PATCH, call_id="patch")],
                        [message("done")],
                    ],
                }
            ],
        }
    )
    root, _turn = run(main)

    spawned = json.loads(
        next(
            item["output"]
            for request in model_server.requests
            for item in request.body["input"]
            if item["type"] == "function_call_output" and item["call_id"] == "spawn"
        )
    )
    command, patch = asked
    assert isinstance(command, CommandRequest)
    assert isinstance(patch, PatchRequest)
    assert {each.thread_id for each in asked} == {spawned["agent_id"]}
    assert command.agent == {
        "threadId": spawned["agent_id"],
        "nickname": spawned["nickname"],
        "role": None,
        "lineage": [root],
    }
    assert [change["path"].rpartition("/")[2] for change in patch.changes] == ["beside.txt"]
    assert (ferrule_home.workspace.parent / "outside").exists()
    assert not (ferrule_home.workspace / "beside.txt").exists()
