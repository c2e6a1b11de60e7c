"""A conversation through the official `openai-codex`; prints what came of it as its last line.

Arguments: the server's program, the workspace.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from openai_codex import CodexConfig
from openai_codex.client import CodexClient


def converse(program: str, workspace: str) -> dict[str, object]:
    asked: list[str] = []

    def approve(method: str, _: object) -> dict[str, str]:
        asked.append("file change" if "fileChange" in method else "command")
        return {"decision": "accept"}

    def client() -> CodexClient:
        config = CodexConfig(codex_bin=program, cwd=workspace)
        return CodexClient(config, approval_handler=approve)

    outcome: dict[str, object] = {"asked": asked}
    with client() as codex:
        codex.initialize()
        thread_id = codex.thread_start({"cwd": workspace}).thread.id
        outcome["first"] = answer(codex, thread_id, "make and patch")
        turn_id = codex.turn_start(thread_id, "sleep").turn.id
        while not Path(workspace, "begun.txt").exists():
            time.sleep(0.05)
        codex.turn_interrupt(thread_id, turn_id)
        outcome["interrupted"] = codex.wait_for_turn_completed(turn_id).turn.status.value
    with client() as codex:
        codex.initialize()
        codex.thread_resume(thread_id)
        outcome["resumed"] = answer(codex, thread_id, "go on")
        read = codex.thread_read(thread_id, include_turns=True)
        outcome["turns"] = len(read.thread.turns)
    return outcome


def answer(codex: CodexClient, thread_id: str, text: str) -> str:
    """Run a turn; returns the model's last message."""
    turn = codex.wait_for_turn_completed(codex.turn_start(thread_id, text).turn.id).turn
    assert turn.status.value == "completed", turn
    return turn.items[-1].root.text


if __name__ == "__main__":
    print(json.dumps(converse(*sys.argv[1:])))
