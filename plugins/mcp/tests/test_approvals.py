"""When calls need approval, who is asked, and what lasts."""

import tomllib

import pytest

ECHO, WRITE, ADD = (f"mcp__demo__{name}" for name in ("echo", "write", "add"))
REFUSED = "approval policy 'never' does not allow asking"


@pytest.mark.parametrize(
    ("keys", "runs"),
    [
        ({"trusted": False}, ()),
        ({"trusted": True}, (ECHO, ADD)),
        ({"trusted": True, "default_tools_approval_mode": "writes"}, (ECHO,)),
        ({"trusted": True, "default_tools_approval_mode": "prompt"}, ()),
        ({"trusted": False, "default_tools_approval_mode": "writes"}, ()),
        ({"trusted": False, "default_tools_approval_mode": "approve"}, (ECHO, WRITE, ADD)),
    ],
    ids=["stranger", "trusted", "writes", "prompt", "stranger-writes", "approve"],
)
def test_what_runs_where_nobody_may_be_asked(talk, table, keys, runs):
    talk.configure(table("demo", **keys))

    items = talk.run(*((name, {}) for name in (ECHO, WRITE, ADD)))

    done = [f"mcp__demo__{item['tool']}" for item in items if item["status"] == "completed"]
    assert done == list(runs)
    refused = [item for item in items if item["status"] != "completed"]
    assert all(item["status"] == "failed" for item in refused)
    assert all(REFUSED in item["error"]["message"] for item in refused)


def test_a_tool_may_have_a_mode_of_its_own(talk, table):
    mode = '[mcp_servers.demo.tools.write]\napproval_mode = "approve"\n'
    talk.configure(table("demo", trusted=False), mode)

    items = talk.run((WRITE, {}), (ECHO, {}))

    assert [item["status"] for item in items] == ["completed", "failed"]


def test_what_a_stranger_says_of_its_tools_is_not_read_only_for_the_untrusted_policy(talk, table):
    talk.configure(table("demo", default_tools_approval_mode="approve"), policy="untrusted")
    talk.answers["approval"] = {"action": "decline"}
    items = talk.run((ECHO, {}), (WRITE, {}))
    assert [item["status"] for item in items] == ["completed", "failed"]

    talk.events.clear()
    stranger = table("demo", default_tools_approval_mode="approve", trusted=False)
    talk.configure(stranger, policy="untrusted")
    assert [item["status"] for item in talk.run((ECHO, {}))] == ["failed"]


def test_the_client_is_asked_as_clients_know_it(talk, table):
    talk.configure(table("demo"), policy="on-request")
    talk.answers["approval"] = {"action": "accept", "content": {}}

    (item,) = talk.run((WRITE, {"text": "hi"}))

    (asked,) = talk.of("mcpServer/elicitation/request")
    assert item["status"] == "completed"
    assert asked["serverName"] == "demo"
    assert asked["mode"] == "form"
    assert asked["message"] == 'Allow the demo MCP server to run tool "write"?'
    assert asked["requestedSchema"] == {"type": "object", "properties": {}}
    assert asked["_meta"] == {
        "codex_approval_kind": "mcp_tool_call",
        "persist": ["session", "always"],
        "tool_name": "write",
        "tool_description": "The tool write.",
        "tool_params": {"text": "hi"},
        "tool_params_display": [{"name": "text", "value": "hi", "display_name": "text"}],
    }


def test_a_declined_call_fails_and_the_turn_goes_on(talk, table):
    talk.configure(table("demo"), policy="on-request")
    talk.answers["approval"] = {"action": "decline"}

    (item,) = talk.run((WRITE, {}))

    assert item["status"] == "failed"
    assert "rejected by user" in item["error"]["message"]
    assert talk.of("turn/completed")[0]["turn"]["status"] == "completed"


def test_a_cancelled_call_ends_the_turn(talk, table):
    talk.configure(table("demo"), policy="on-request")
    talk.answers["approval"] = {"action": "cancel"}

    talk.run((WRITE, {}), (ECHO, {}))

    assert talk.of("turn/completed")[0]["turn"]["status"] == "interrupted"
    assert len(talk.items()) == 1


def test_acceptance_for_the_session_covers_the_same_call(talk, table):
    talk.configure(table("demo"), policy="on-request")
    talk.answers["approval"] = {"action": "accept", "_meta": {"persist": "session"}}

    items = talk.run((WRITE, {"text": "a"}), (WRITE, {"text": "a"}), (WRITE, {"text": "b"}))

    assert {item["status"] for item in items} == {"completed"}
    assert len(talk.of("mcpServer/elicitation/request")) == 2


def test_acceptance_for_good_is_written_and_holds_at_once(talk, table):
    talk.configure("# kept\n", table("demo"), policy="on-request")
    talk.answers["approval"] = {"action": "accept", "_meta": {"persist": "always"}}

    talk.run((WRITE, {"text": "a"}), (WRITE, {"text": "b"}))

    text = (talk.home.path / "config.toml").read_text()
    written = tomllib.loads(text)["mcp_servers"]["demo"]["tools"]
    assert written == {"write": {"approval_mode": "approve"}}
    assert "# kept" in text
    assert len(talk.of("mcpServer/elicitation/request")) == 1
    talk.events.clear()
    talk.run((WRITE, {"text": "c"}))
    assert not talk.of("mcpServer/elicitation/request")


def test_exec_refuses_what_nobody_can_approve(talk, table):
    talk.configure(table("demo"), policy="on-request")

    run = talk.exec((WRITE, {}), options=["-c", 'approval_policy="on-request"'])

    (call,) = run.items("mcp_tool_call")
    assert call["status"] == "failed"
    assert "rejected by user" in call["error"]["message"]
