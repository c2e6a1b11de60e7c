"""What plugins ask of models counts towards the budgets of the session they ask for."""

import json

import pytest
from kernel_plugins.speech import call, say

from ferrule_hookspecs.provider import Completed, ModelRequest


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
def reviewed(bench, stage):
    """Run a turn of 100 tokens with a call that a model reviews, once or twice, for 450 each."""

    def run(budgets, reviews=1):
        bench.configure(budgets)
        bench.set_key("approval_policy", '"on-request"')

        async def decide(request, context):
            asked = ModelRequest("review", request.turn_id, "small", (), (), kind="review")
            for _ in range(reviews):
                stage.turns.appendleft([*say("fine"), spends(450)])
                async for _ in context.provider("").stream(asked):
                    pass
            return "decline"

        wish = json.dumps({"path": str(bench.folder / "outside.txt"), "escalate": True})
        stage.turns.extend([[call("touch", wish), spends(100)], [*say("ok"), spends(100)]])
        stage.reviews.append(decide)
        return bench.turn()

    return run


def error(bench):
    return bench.of("turn/completed")[-1]["turn"]["error"]


@pytest.mark.parametrize("scope", ["turn", "thread", "tree"])
def test_a_review_uses_up_a_budget(bench, stage, reviewed, scope):
    reviewed(f"budgets.{scope}.tokens = 500")

    assert f"the {scope}'s token budget of 500 is used up: 550 used" in error(bench)["message"]
    assert len(stage.requests) == 2


def test_a_review_is_not_begun_with_a_budget_that_is_used_up(bench, stage, reviewed):
    reviewed("budgets.turn.tokens = 500", reviews=2)

    assert [request.kind for request in stage.requests] == ["turn", "review"]


def test_a_thread_that_is_resumed_has_spent_what_its_reviews_had(bench, stage, reviewed):
    session = reviewed("")
    bench.configure("budgets.thread.tokens = 600")
    bench.events.clear()
    asked = len(stage.requests)

    bench.turn(resume=session.thread["id"])

    assert "650 used" in error(bench)["message"]
    assert len(stage.requests) == asked
