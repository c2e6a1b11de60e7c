"""Standing approvals, questions that only a person may answer, and amendments that are offered."""

import json

import pytest
from kernel_plugins.speech import DONE, call, say

from ferrule_hookspecs.review import Amendment, Verdict

OUTSIDE = "/opt/ferrule-test-outside"
OFFERED = Amendment("command_prefix", ("touch", "a"))


@pytest.fixture
def touching(bench, stage):
    """Run one turn in which the model touches a file."""

    def run(path=None, *, approval="on-request", **arguments):
        bench.set_key("approval_policy", f'"{approval}"')
        arguments["path"] = str(path or bench.workspace / "a.txt")
        stage.turns.extend([[call("touch", json.dumps(arguments)), DONE], [*say("ok"), DONE]])
        bench.turn()
        return bench

    return run


@pytest.fixture
def trusting(bench):
    """Believe the grants of the plugin of these tests."""
    bench.set_key("policy_plugin", '"staged"')


def decisions(bench):
    return [(p["outcome"]["decision"], p["outcome"]["reviewer"]) for p in bench.of("item/decision")]


@pytest.mark.usefixtures("trusting")
def test_a_grant_of_the_policy_plugin_answers_what_the_mode_would_ask(touching, bench, stage):
    stage.hooks["ferrule_tool_before"] = Verdict("allow", "you said so", "allow touch", grants=True)

    touching(approval="untrusted")

    assert stage.review_requests == []
    assert (bench.workspace / "a.txt").exists()
    assert decisions(bench) == [("accept", "staged")]
    assert bench.of("item/decision")[0]["outcome"]["rule"] == "allow touch"


def test_a_grant_of_any_other_plugin_counts_for_nothing(touching, stage):
    stage.hooks["ferrule_tool_before"] = Verdict("allow", grants=True)
    stage.reviews.append("decline")

    touching(approval="untrusted")

    assert len(stage.review_requests) == 1


@pytest.mark.usefixtures("trusting")
def test_an_allow_without_a_grant_leaves_the_question(touching, stage):
    stage.hooks["ferrule_tool_before"] = Verdict("allow")
    stage.reviews.append("decline")

    touching(approval="untrusted")

    assert len(stage.review_requests) == 1


@pytest.mark.usefixtures("trusting")
def test_a_granted_call_still_runs_in_the_sandbox(touching, bench, stage):
    stage.hooks["ferrule_tool_before"] = Verdict("allow", grants=True)

    touching(OUTSIDE)

    assert decisions(bench) == [("accept", "staged")]
    assert "touched" not in bench.outputs(stage)["c1"]


@pytest.mark.usefixtures("trusting")
def test_a_call_that_asks_to_leave_the_sandbox_may_if_it_is_granted(touching, bench, stage):
    stage.hooks["ferrule_tool_before"] = Verdict("allow", grants=True)

    touching(escalate=True)

    assert stage.review_requests == []
    assert (bench.workspace / "a.txt").exists()


def test_the_facts_of_a_decision_are_stored_with_it(touching, bench, stage):
    stage.hooks["ferrule_tool_before"] = Verdict("allow", "harmless", "rule 7")

    touching()

    facts = bench.of("item/decision")[0]["facts"]
    assert facts == {
        "cwd": str(bench.workspace),
        "approvalPolicy": "on-request",
        "sandboxMode": "workspace-write",
        "escalated": False,
        "requirement": "skip",
        "opinions": {
            "staged": {"decision": "allow", "reason": "harmless", "rule": "rule 7"},
        },
    }


def test_a_rule_may_demand_another_reviewer_than_the_configured_one(touching, bench, stage):
    stage.hooks["ferrule_tool_before"] = Verdict("ask", "sure?", reviewer="user")

    touching()

    assert stage.review_requests == []
    assert decisions(bench) == [("decline", "user")]


def test_a_reviewer_that_is_not_there_refuses(touching, bench, stage):
    stage.hooks["ferrule_tool_before"] = Verdict("ask", "sure?", reviewer="nobody")

    touching()

    assert decisions(bench) == [("decline", "policy")]
    assert not (bench.workspace / "a.txt").exists()


def test_the_reviewer_learns_which_amendments_are_offered(touching, stage):
    stage.hooks["ferrule_tool_before"] = Verdict("ask", "sure?", amendments=(OFFERED,))
    stage.reviews.append("accept")

    touching()

    assert stage.review_requests[0].amendments == (OFFERED,)
    assert "ferrule_amendment" not in [name for name, _ in stage.hook_calls]


def test_an_amendment_that_was_not_offered_is_not_kept(touching, bench, stage):
    stage.hooks["ferrule_tool_before"] = Verdict("ask", "sure?", amendments=(OFFERED,))
    stage.reviews.append({"decision": "accept", "amendment": ["command_prefix", "touch"]})

    touching()

    assert "ferrule_amendment" not in [name for name, _ in stage.hook_calls]
    assert any("was not offered" in warning["message"] for warning in bench.of("warning"))


def test_an_amendment_of_a_refused_call_is_not_kept(touching, stage):
    stage.hooks["ferrule_tool_before"] = Verdict("ask", "sure?", amendments=(OFFERED,))
    stage.reviews.append({"decision": "decline", "amendment": ["command_prefix", "touch", "a"]})

    touching()

    assert "ferrule_amendment" not in [name for name, _ in stage.hook_calls]
