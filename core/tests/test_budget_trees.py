"""What subagents spend counts towards the turn and the tree of the threads above them."""

import json

import pytest
from kernel_plugins.speech import call, say

from ferrule_hookspecs.provider import Completed
from ferrule_hookspecs.services import ChildOptions


def spends(tokens):
    return Completed(
        "r",
        {
            "totalTokens": tokens,
            "inputTokens": tokens,
            "cachedInputTokens": 0,
            "cacheWriteInputTokens": 0,
            "outputTokens": 0,
            "reasoningOutputTokens": 0,
        },
    )


@pytest.fixture
def with_child(bench, stage):
    """Run a turn that uses 100 tokens and starts a child, whose turns answer as given."""

    def run(budgets, *turns, ends=None):
        bench.configure(budgets)
        bench.set_key("approval_policy", '"on-request"')
        children = []

        async def decide(request, context):
            _, arguments = next(c for c in stage.hook_calls if c[0] == "ferrule_session_start")
            child = await arguments["context"].services.open_child(ChildOptions())
            await bench.start(child, "work")
            async for event in child.events():
                if event["method"] == "turn/completed":
                    children.append(event["params"]["turn"])
                    break
            await child.close()
            return "decline"

        wish = json.dumps({"path": str(bench.folder / "outside.txt"), "escalate": True})
        stage.turns.append([call("touch", wish), spends(100)])
        stage.turns.extend(turns)
        stage.turns.append(ends or [*say("ok"), spends(100)])
        stage.reviews.append(decide)
        return bench.turn(), children

    return run


def error(bench):
    return bench.of("turn/completed")[-1]["turn"]["error"]


@pytest.mark.parametrize("scope", ["turn", "tree"])
def test_a_subagent_that_uses_up_the_budget_ends_with_the_turn_above_it(
    bench, stage, with_child, scope
):
    with_child(f"budgets.{scope}.tokens = 500", [call("note"), spends(450)])

    assert error(bench) == {
        "message": f"the {scope}'s token budget of 500 is used up: 550 used; raise"
        f" `budgets.{scope}.tokens` to go on",
        "codexErrorInfo": "sessionBudgetExceeded",
    }
    assert len(stage.requests) == 2


def test_the_budget_of_a_thread_is_its_own(bench, with_child):
    _, children = with_child("budgets.thread.tokens = 500", [*say("done"), spends(450)])

    assert children[0]["status"] == "completed"
    assert error(bench) is None


def test_a_subagent_s_thread_is_bound_like_any_other(bench, with_child):
    _, children = with_child("budgets.thread.tokens = 300", [call("note"), spends(350)])

    assert "the thread's token budget of 300" in children[0]["error"]["message"]
    assert error(bench) is None


def test_a_subagent_that_is_cut_with_the_thread_above_it_says_why(bench, stage):
    bench.configure("budgets.thread.tokens = 300")
    stage.turns.extend([["hang"], [call("note"), spends(350)]])
    ended = []

    async def script(session):
        _, arguments = next(c for c in stage.hook_calls if c[0] == "ferrule_session_start")
        child = await arguments["context"].services.open_child(ChildOptions())
        await bench.start(child, "work")
        await bench.until_asked(stage)
        await bench.start(session)
        async for event in child.events():
            if event["method"] == "turn/completed":
                ended.append(event["params"]["turn"]["error"])
                break

    bench.run(script)

    assert "the thread's token budget of 300 is used up: 350 used" in ended[0]["message"]
    assert error(bench) == ended[0]


@pytest.mark.parametrize("budget", ["tokens = 600", "requests = 3"])
def test_a_tree_that_is_resumed_has_spent_what_its_subagents_had_spent(
    bench, stage, with_child, budget
):
    session, _ = with_child("", [*say("done"), spends(450)])
    asked = len(stage.requests)

    bench.configure(f"budgets.tree.{budget}")
    bench.events.clear()
    bench.turn(resume=session.thread["id"])

    assert "the tree's" in error(bench)["message"]
    assert len(stage.requests) == asked
