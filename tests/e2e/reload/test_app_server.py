"""A client of the app-server goes on in its thread while plugins change, and is told."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest

from ferrule_testkit.app_server_process import AppServerProcess
from ferrule_testkit.model_items import function_call, message
from ferrule_testkit.wires import PATIENCE_S, StdioWire

PROJECT = """\
[project]
name = "acme-living"
version = "{version}"
[project.entry-points."ferrule.tools"]
living = "acme_living:Living"
"""
TOOL = """\
from ferrule_hookspecs import Tool, ToolResult
class Living(Tool):
    name = "living"
    async def run(self, call, context):
        return ToolResult({answer!r})
"""
SKILL = "---\nname: knitting\ndescription: Knits socks.\n---\nKnit.\n"


@pytest.fixture
def checkout(tmp_path):
    """A plugin's project; call it with what the tool answers and the version."""
    folder = tmp_path / "acme-living"
    (folder / "src").mkdir(parents=True)

    def write(answer, version="1.0"):
        (folder / "src" / "acme_living.py").write_text(TOOL.format(answer=answer))
        (folder / "pyproject.toml").write_text(PROJECT.format(version=version))

    write.folder = folder
    write("one")
    return write


class Client:
    """Speaks to a server on its standard input and output."""

    def __init__(self, server):
        self._wire, self._number, self.told = StdioWire(server.process), 0, []

    def ask(self, method, **params):
        self._number += 1
        line = {"id": self._number, "method": method, "params": params}
        self._wire.send(json.dumps(line).encode())
        while True:
            said = self._next()
            if said.get("id") == self._number:
                assert "error" not in said, said
                return said["result"]

    def turn(self, thread):
        text = [{"type": "text", "text": "go"}]
        before = self._turns()
        self.ask("turn/start", threadId=thread, input=text)
        while self._turns() == before:
            self._next()

    def _turns(self):
        return sum(each["method"] == "turn/completed" for each in self.told)

    def warnings(self):
        return [each["params"]["message"] for each in self.told if each["method"] == "warning"]

    def _next(self):
        line = self._wire.frames.get(timeout=PATIENCE_S)
        assert line, "the server ended"
        said = json.loads(line)
        if "method" in said:
            self.told.append(said)
        return said


def outputs(model_server):
    found = model_server.requests[-1].body["input"]
    return [item["output"] for item in found if item["type"].endswith("_output")]


def test_a_plugin_and_a_skill_change_between_turns_of_a_thread(
    ferrule_home, model_server, checkout
):
    steps = [[function_call("living", {}, call_id=f"c{n}")] for n in range(3)]
    model_server.play([turn for step in steps for turn in (step, [message("done")])])
    environ = {"FERRULE_DEV_PLUGIN": str(checkout.folder)}

    with AppServerProcess(ferrule_home, environ=environ) as server:
        client = Client(server)
        client.ask("initialize", clientInfo={"name": "test", "title": None, "version": "1"})
        thread = client.ask("thread/start")["thread"]["id"]
        client.turn(thread)
        checkout("two", "2.0")
        client.turn(thread)
        skill = ferrule_home.path / "skills" / "knitting" / "SKILL.md"
        skill.parent.mkdir(parents=True)
        skill.write_text(SKILL)
        client.turn(thread)

    assert outputs(model_server) == ["one", "two", "two"]
    first, *_, last = [request.raw for request in model_server.requests]
    assert b"knitting" in last
    assert b"knitting" not in first
    assert "acme-living 2.0 is used from this turn on, in the place of 1.0" in client.warnings()
    prefixes = [request.body["input"] for request in model_server.requests]
    for before, after in pairwise(prefixes):
        assert after[: len(before)] == before
