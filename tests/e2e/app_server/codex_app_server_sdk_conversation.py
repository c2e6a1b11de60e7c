"""A conversation through `codex-app-server-sdk`; prints what came of it as its last line.

Arguments: the server's program, the workspace.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from codex_app_server_sdk import CodexClient, CommandApprovalRequest, ThreadConfig


async def converse(program: str, workspace: str) -> dict[str, object]:
    asked: list[str] = []

    async def approve(request: object) -> str:
        asked.append("command" if isinstance(request, CommandApprovalRequest) else "file change")
        return "accept"

    command = [program, "app-server"]
    outcome: dict[str, object] = {"asked": asked}
    async with CodexClient.connect_stdio(command=command, cwd=workspace) as client:
        client.set_approval_handler(approve)
        await client.initialize()
        thread = await client.start_thread(ThreadConfig(cwd=workspace))
        outcome["first"] = (await thread.chat_once("make and patch")).final_text
        started = await client.request(
            "turn/start",
            {"threadId": thread.thread_id, "input": [{"type": "text", "text": "sleep"}]},
        )
        turn_id = started["turn"]["id"]
        while not Path(workspace, "begun.txt").exists():
            await asyncio.sleep(0.05)
        await client.interrupt_turn(turn_id, thread_id=thread.thread_id)
        outcome["interrupted"] = await ended(client, thread.thread_id, turn_id)
        thread_id = thread.thread_id
    async with CodexClient.connect_stdio(command=command, cwd=workspace) as client:
        await client.initialize()
        thread = await client.resume_thread(thread_id)
        outcome["resumed"] = (await thread.chat_once("go on")).final_text
        read = await client.read_thread(thread_id, include_turns=True)
        outcome["turns"] = len(read["thread"]["turns"])
    return outcome


async def ended(client: CodexClient, thread_id: str, turn_id: str) -> str:
    """Await the end of a turn; returns its status."""
    while True:
        read = await client.read_thread(thread_id, include_turns=True)
        for turn in read["thread"]["turns"]:
            if turn["id"] == turn_id and turn["status"] != "inProgress":
                return turn["status"]
        await asyncio.sleep(0.05)


if __name__ == "__main__":
    print(json.dumps(asyncio.run(converse(*sys.argv[1:]))))
