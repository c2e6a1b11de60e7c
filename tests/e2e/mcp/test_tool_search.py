"""Many tools of a server: found by a search, called, and known when the thread goes on."""

import json
import sys
from pathlib import Path

import pytest

from ferrule_testkit.model_items import function_call, message

SERVER = Path(__file__).parents[3] / "plugins" / "mcp" / "tests" / "servers" / "plain_server.py"
TABLE = f'[mcp_servers.demo]\ncommand = "{sys.executable}"\nargs = ["{SERVER}"]\n'
WISHED = ("-c", "tools.tool_search=true")
SEARCH = {
    "type": "tool_search_call",
    "id": "tsc_1",
    "call_id": "s1",
    "status": "completed",
    "execution": "client",
    "arguments": {"query": "echo"},
}


@pytest.fixture
def home(ferrule_home):
    """A home with a server of many tools."""
    ferrule_home.configure(top="mcp_optional_startup_grace_ms = 60000", tables=TABLE)
    return ferrule_home


def run(home, model_server, script, *arguments):
    """Run the model's script; returns the events and what was asked of the model."""
    model_server.play(script)
    before = len(model_server.requests)
    done = home.run("exec", *arguments, "--json", "--skip-git-repo-check", "go", timeout=120)
    assert done.returncode == 0, done.stderr
    events = [json.loads(line) for line in done.stdout.splitlines()]
    return events, [each.body for each in model_server.requests[before:]]


def test_a_found_tool_is_called_in_its_namespace_and_the_prefix_stays(home, model_server):
    call = {**function_call("echo", {"text": "hi"}), "namespace": "mcp__demo"}

    script = [[SEARCH], [call], [message("ok")]]
    events, (first, second, third) = run(home, model_server, script, *WISHED)

    assert not [tool for tool in first["tools"] if str(tool.get("name")).startswith("mcp__")]
    search = next(tool for tool in first["tools"] if tool["type"] == "tool_search")
    assert "- mcp__demo (" in search["description"]
    assert first["tools"] == second["tools"] == third["tools"]
    assert second["input"][: len(first["input"])] == first["input"]
    assert third["input"][: len(second["input"])] == second["input"]
    (space,) = second["input"][-1]["tools"]
    assert (space["type"], space["name"]) == ("namespace", "mcp__demo")
    assert space["tools"][0]["name"] == "echo"
    called = next(event["item"] for event in events if event["type"] == "item.completed")
    assert (called["type"], called["tool"]) == ("mcp_tool_call", "echo")
    assert called["error"] is None or "approval" in called["error"]["message"]

    thread_id = events[0]["thread_id"]
    _, (resumed,) = run(home, model_server, [[message("ok")]], "resume", thread_id, *WISHED)
    assert resumed["input"][: len(third["input"])] == third["input"]


def test_a_model_that_cannot_search_is_told_of_every_tool(home, model_server):
    _, (body,) = run(home, model_server, [[message("ok")]], "-m", "unknown-model")

    assert "mcp__demo__echo" in [tool.get("name") for tool in body["tools"]]
    assert "tool_search" not in [tool["type"] for tool in body["tools"]]


def test_such_a_model_finds_tools_by_an_ordinary_call_where_that_is_wished(home, model_server):
    script = [[function_call("tool_search", {"query": "echo"})], [message("ok")]]

    _, (first, second) = run(home, model_server, script, "-m", "unknown-model", *WISHED)

    before, after = first["tools"], second["tools"]
    new = [tool["name"] for tool in after if tool not in before]
    assert new[0] == "mcp__demo__echo"
    assert [tool for tool in after if tool in before] == before
    assert "- mcp__demo__echo: " in second["input"][-1]["output"]
