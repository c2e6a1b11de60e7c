"""Clients of earlier Codex versions keep working.

`earlier/VERSION` holds what such clients sent, recorded against that version of `codex app-server`
and reduced by `earlier/reduce.py`: every request is answered with the members that were there, and
the notifications and questions they waited for come.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
from collections import Counter
from pathlib import Path

import pytest

EARLIER = Path(__file__).parent / "earlier"
CASES = sorted(path.relative_to(EARLIER) for path in EARLIER.glob("*/*.json"))
PATIENCE_S = 120

# Members of replies that an earlier server had and ours has not, and why.
LEFT_OUT = {
    ".permissionProfile": "described by `sandbox`; later versions dropped it as well",
    ".sandbox.writableRoots": "empty where there is nothing beyond the workspace, as later on",
    ".multiAgentMode": "always the value that its absence stands for; deprecated",
    ".thread.historyMode": "as its absence says: a reply with turns is complete",
    ".data[].historyMode": "as its absence says: a reply with turns is complete",
}
# The same in one reply.
LEFT_OUT_ONCE = {
    "n_command_exec, request 8: no .stderr": "what a closed pipe ends says nothing, as in a shell",
}
# Requests that are refused, of which the recorded server answered all.
REFUSED = {
    "0.130.0/g_thread_lifecycle, request 22": "a thread that was put away, as later versions do",
    "0.130.0/g_thread_lifecycle, request 28": "a deleted thread; that version deleted none",
    "0.153.4/g_thread_lifecycle, request 16": "a turn that request 15, refused there, took back",
}


class Client:
    """Replays what a client sent, with our ids in place of the recorded ones."""

    def __init__(
        self, case: Path, argv: list[str], workspace: Path, environ: dict[str, str]
    ) -> None:
        self.case = case
        self.argv, self.workspace, self.environ = argv, workspace, environ
        self.ids: dict[str, str] = {}
        self.replies: dict[str, dict] = {}
        self.seen: Counter[str] = Counter()
        self.questions: list[object] = []
        self.changed = asyncio.Event()
        self.process: asyncio.subprocess.Process
        self.reader: asyncio.Task

    async def start(self) -> None:
        self.process = await asyncio.create_subprocess_exec(
            *self.argv,
            cwd=self.workspace,
            env=self.environ,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=2**24,
        )
        self.reader = asyncio.create_task(self.read())

    async def stop(self) -> None:
        self.process.stdin.close()
        assert await asyncio.wait_for(self.process.wait(), PATIENCE_S) == 0
        await self.reader

    async def read(self) -> None:
        while line := await self.process.stdout.readline():
            message = json.loads(line)
            if "method" in message:
                item = message.get("params", {}).get("item", {}).get("type", "")
                name = f"{message['method']} {item}" if item == "commandExecution" else ""
                self.seen[name or message["method"]] += 1
                if "id" in message:
                    self.seen["?" + message["method"]] += 1
                    self.questions.append(message["id"])
            else:
                self.replies[str(message["id"])] = message
            self.changed.set()

    async def until(self, holds) -> None:
        while not holds():
            self.changed.clear()
            await asyncio.wait_for(self.changed.wait(), PATIENCE_S)

    async def step(self, step: dict, members) -> list[str]:
        """Await what the recorded client had seen, then send what it sent; returns complaints."""
        complaints = []
        for number, recorded in step["replies"].items():
            await self.until(lambda number=number: number in self.replies)
            ours = self.replies.pop(number)
            if recorded == "error":
                continue
            if f"{self.case}, request {number}" in REFUSED:
                assert "error" in ours
                continue
            if "error" in ours:
                complaints.append(f"request {number} was refused: {ours['error']['message']}")
                continue
            lost = set(recorded["members"]) - members(ours["result"])
            complaints += [
                f"request {number}: no {each}"
                for each in sorted(lost)
                if not known(each)
                and f"{self.case.name}, request {number}: no {each}" not in LEFT_OUT_ONCE
            ]
            for name, place in recorded["names"].items():
                value = ours["result"]
                for key in place:
                    value = value[key]
                self.ids[name] = value
        await self.until(lambda: all(self.seen[k] >= n for k, n in step["after"].items()))
        if "send" in step:
            await self.send(step["send"])
        return complaints

    async def send(self, message: dict) -> None:
        if message.get("method") == "initialize" and self.ids:
            await self.stop()
            await self.start()
        if "result" in message:
            message = {**message, "id": self.questions.pop(0)}
        text = json.dumps(message).replace("@ws", str(self.workspace))
        for name, value in sorted(self.ids.items(), key=lambda pair: -len(pair[0])):
            text = text.replace(name, value)
        self.process.stdin.write(text.encode() + b"\n")


def known(member: str) -> bool:
    return any(member == each or member.startswith(each + ".") for each in LEFT_OUT)


@pytest.fixture(scope="session")
def members():
    spec = importlib.util.spec_from_file_location("reduce", EARLIER / "reduce.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.members


@pytest.mark.timeout(600)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_an_earlier_client_is_served(case, recorded, prepared, members, ferrule):
    steps = json.loads((EARLIER / case).read_text())

    async def replay(workspace: Path, environ: dict[str, str]) -> list[str]:
        client = Client(case.with_suffix(""), [str(ferrule), "app-server"], workspace, environ)
        await client.start()
        try:
            return [each for step in steps for each in await client.step(step, members)]
        finally:
            await client.stop()

    with prepared(case.stem) as (workspace, environ):
        assert asyncio.run(replay(workspace, environ)) == []


def test_recordings_are_of_more_than_one_version():
    assert len({case.parts[0] for case in CASES}) > 1
