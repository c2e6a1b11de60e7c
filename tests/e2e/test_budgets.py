"""Budgets over everything that a run starts: agents that a model spawned, and their commands."""

import pytest

from ferrule_testkit.model_items import function_call, message

AGENT_ID = "{{re:agent_id[^0-9a-f]+([0-9a-f-]{36})}}"


@pytest.fixture
def with_agent(model_server):
    """A root that starts an agent and waits for it; the agent runs command after command."""

    def play(command):
        step = function_call("exec_command", {"cmd": command, "yield_time_ms": 60_000})
        spawn = function_call("spawn_agent", {"message": "dig"}, call_id="spawn")
        wishes = {"targets": [AGENT_ID], "timeout_ms": 600_000}
        wait = function_call("wait_agent", wishes, call_id="wait")
        model_server.play(
            {
                "turns": [[spawn], [wait], [message("never")]],
                "routes": [{"contains": '"text":"dig', "turns": [{"items": [step], "times": 20}]}],
            }
        )

    return play


@pytest.mark.parametrize(
    "flag", [("--max-tokens", "600"), ("-c", "budgets.tree.tokens=600")], ids=["turn", "tree"]
)
def test_an_agent_that_uses_up_the_budget_ends_the_run(run_ferrule, model_server, with_agent, flag):
    with_agent("true")

    run = run_ferrule("exec", "--json", "-s", "danger-full-access", *flag, "go")

    assert run.returncode == 1
    assert run.events[-1]["error"]["reason"] == "budget_exceeded"
    assert "token budget of 600 is used up: 660 used" in run.events[-1]["error"]["message"]
    assert len(model_server.requests) in (6, 7)  # one of the root's may be on its way
    assert not run.survivors


def test_a_budget_of_time_ends_what_agents_run(run_ferrule, with_agent):
    with_agent("sleep 601")

    run = run_ferrule("exec", "--json", "-s", "danger-full-access", "--max-time", "2", "go")

    assert run.events[-1]["error"]["reason"] == "budget_exceeded"
    assert "time budget of 2 s" in run.events[-1]["error"]["message"]
    assert not run.survivors
