"""What a client is asked in its own protocol, and what its answers mean."""

from pathlib import Path

import anyio
import pytest

from ferrule_hookspecs.egress import HostAccess
from ferrule_hookspecs.permissions import AdditionalPermissions
from ferrule_hookspecs.plugins import PluginContext
from ferrule_hookspecs.review import Amendment, ReviewContext, ReviewRequest
from ferrule_hookspecs.tools import ToolCall
from ferrule_reviewer_user.reviewer import UserReviewer

CALL = ToolCall("call_1", "exec_command", {"cmd": "touch /x"}, '{"cmd": "touch /x"}', "function")
COMMAND = {
    "type": "commandExecution",
    "id": "call_1",
    "command": "/bin/bash -lc 'touch /x'",
    "cwd": "/work/sub",
    "commandActions": [{"type": "unknown", "command": "touch /x"}],
    "status": "inProgress",
}
MCP = {
    "type": "mcpToolCall",
    "id": "call_1",
    "server": "demo",
    "tool": "echo",
    "arguments": {"text": "hi"},
    "status": "inProgress",
}
PREFIX = Amendment("command_prefix", ("touch", "/x"))
WITH_PREFIX = {"acceptWithExecpolicyAmendment": {"execpolicy_amendment": ["touch", "/x"]}}
REQUEST = ReviewRequest("thread", "turn", CALL, COMMAND, "it writes outside", "/work")


@pytest.fixture
def asked():
    """Have a request reviewed by a client; returns what it was asked and what was decided."""

    def run(answer, **changes):
        questions = []

        async def ask(question):
            questions.append(question)
            return answer

        reviewer = UserReviewer(PluginContext(Path("/nowhere"), {}))
        outcome = anyio.run(reviewer.review, REQUEST._replace(**changes), ReviewContext(ask))
        return questions[0], outcome

    return run


def test_a_command_is_shown_with_its_folder_and_what_it_does(asked):
    question, _ = asked({"decision": "accept"})

    params = question["params"]
    assert params["kind"] == "command"
    assert params["command"] == COMMAND["command"]
    assert params["cwd"] == "/work/sub"
    assert params["commandActions"] == COMMAND["commandActions"]
    assert params["availableDecisions"] == ["accept", "acceptForSession", "cancel"]
    assert "proposedExecpolicyAmendment" not in params


def test_a_rule_is_offered_with_the_command_it_would_allow(asked):
    question, outcome = asked({"decision": WITH_PREFIX}, amendments=(PREFIX,))

    assert question["params"]["proposedExecpolicyAmendment"] == ["touch", "/x"]
    assert question["params"]["availableDecisions"] == ["accept", WITH_PREFIX, "cancel"]
    assert outcome["decision"] == "accept"
    assert outcome["amendment"] == ["command_prefix", "touch", "/x"]


@pytest.mark.parametrize(("action", "decision"), [("allow", "accept"), ("deny", "decline")])
def test_a_host_can_be_allowed_or_denied_for_good(asked, action, decision):
    amendment = {"host": "pypi.org", "action": action}
    answer = {"applyNetworkPolicyAmendment": {"network_policy_amendment": amendment}}
    host = Amendment("network_host", ("https", "pypi.org"))

    question, outcome = asked({"decision": answer}, amendments=(host,))

    offered = [{"host": "pypi.org", "action": "allow"}]
    assert question["params"]["proposedNetworkPolicyAmendments"] == offered
    assert outcome["decision"] == decision
    assert ("amendment" in outcome) is (action == "allow")


def test_a_connection_is_shown_with_its_host_and_the_command_that_wants_it(asked):
    access = HostAccess("pypi.org", 443, "https")
    host = Amendment("network_host", ("https", "pypi.org"))

    question, outcome = asked({"decision": "acceptForSession"}, network=access, amendments=(host,))

    params = question["params"]
    assert question["method"] == "item/commandExecution/requestApproval"
    assert params["networkApprovalContext"] == {"host": "pypi.org", "protocol": "https"}
    assert params["approvalId"] == "call_1:pypi.org:443:https"
    assert params["command"] == COMMAND["command"]
    assert "acceptForSession" in params["availableDecisions"]
    assert outcome["decision"] == "acceptForSession"


def test_a_connection_of_a_server_s_tool_is_asked_about_as_such(asked):
    access = HostAccess("git.test", 22, "socks5_tcp")

    question, _ = asked({"decision": "decline"}, item=MCP, network=access)

    context = {"host": "git.test", "protocol": "socks5Tcp"}
    assert question["params"]["networkApprovalContext"] == context


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"decision": "approved"},
        {"decision": {"acceptWithExecpolicyAmendment": {}}},
        {"decision": {"applyNetworkPolicyAmendment": {"network_policy_amendment": {"host": "x"}}}},
        {"decision": {"somethingNew": 1}},
        {"decision": ["accept"]},
    ],
)
def test_an_answer_that_makes_no_sense_fails_and_accepts_nothing(asked, answer):
    _, outcome = asked(answer)

    assert outcome["decision"] == "decline"
    assert outcome["failed"] is True
    assert outcome["reason"] == "approval request failed"


def test_fields_nobody_knows_do_no_harm(asked):
    _, outcome = asked({"decision": "decline", "mood": "good"})

    assert outcome["decision"] == "decline"
    assert "failed" not in outcome


@pytest.mark.parametrize(
    ("scope", "decision"),
    [("turn", "accept"), ("session", "acceptForSession"), (None, "accept")],
)
def test_lasting_permissions_are_asked_for_by_their_own_question(asked, scope, decision):
    wanted = AdditionalPermissions(network=True, write=("/out",))
    granted = {"fileSystem": {"write": ["/out"]}}

    question, outcome = asked(
        {"permissions": granted, "scope": scope}, permissions=wanted, lasting=True
    )

    assert question["method"] == "item/permissions/requestApproval"
    assert question["params"]["cwd"] == "/work"
    assert question["params"]["permissions"] == {
        "network": {"enabled": True},
        "fileSystem": {
            "read": [],
            "write": ["/out"],
            "entries": [{"path": {"type": "path", "path": "/out"}, "access": "write"}],
        },
    }
    assert outcome["decision"] == decision
    assert outcome["granted"] == granted


def test_a_grant_without_permissions_fails(asked):
    wanted = AdditionalPermissions(network=True)

    _, outcome = asked({"scope": "session"}, permissions=wanted, lasting=True)

    assert outcome["failed"] is True


@pytest.mark.parametrize(
    ("answer", "decision"),
    [
        ({"action": "accept", "content": {}}, "accept"),
        ({"action": "accept", "_meta": {"persist": "session"}}, "acceptForSession"),
        ({"action": "accept", "_meta": {"persist": "always"}}, "accept"),
        ({"action": "decline"}, "decline"),
        ({"action": "cancel"}, "cancel"),
    ],
)
def test_a_tool_of_a_server_is_approved_as_a_question_of_the_server(asked, answer, decision):
    always = Amendment("mcp_tool", ("demo", "echo"))

    question, outcome = asked(answer, item=MCP, amendments=(always,))

    assert question["method"] == "mcpServer/elicitation/request"
    params = question["params"]
    assert (params["serverName"], params["mode"]) == ("demo", "form")
    assert params["_meta"]["codex_approval_kind"] == "mcp_tool_call"
    assert params["_meta"]["persist"] == ["session", "always"]
    assert params["_meta"]["tool_params"] == {"text": "hi"}
    assert outcome["decision"] == decision
    is_kept = answer.get("_meta") == {"persist": "always"}
    assert outcome.get("amendment") == (["mcp_tool", "demo", "echo"] if is_kept else None)


def test_a_tool_of_a_server_is_not_approved_by_an_answer_that_is_none(asked):
    _, outcome = asked({"decision": "accept"}, item=MCP)

    assert outcome["failed"] is True
