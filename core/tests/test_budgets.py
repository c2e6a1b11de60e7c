"""Budgets of a turn and a thread: the kernel ends what would go beyond them, and says so."""

import re

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kernel_plugins.speech import DONE, call, say

from ferrule_hookspecs.hooks import Continue
from ferrule_hookspecs.models import ModelInfo, ModelPrices
from ferrule_hookspecs.provider import Completed


def spends(tokens):
    """A response that used so many tokens, of which a tenth are output."""
    return Completed(
        "r",
        {
            "totalTokens": tokens,
            "inputTokens": tokens - tokens // 10,
            "cachedInputTokens": 0,
            "cacheWriteInputTokens": 0,
            "outputTokens": tokens // 10,
            "reasoningOutputTokens": 0,
        },
    )


def failure(bench, turn=-1):
    return bench.of("turn/completed")[turn]["turn"]["error"]


def status(bench, turn=-1):
    return bench.of("turn/completed")[turn]["turn"]["status"]


def go_on(bench, session):
    """Resume a thread for one more turn, and forget what was told before."""
    bench.events.clear()
    bench.turn(resume=session.thread["id"])


def warnings(bench):
    return [params["message"] for params in bench.of("warning")]


@pytest.fixture
def priced(stage):
    """A model whose every token costs a cent."""
    info = ModelInfo("test-model", prices=ModelPrices(10_000, 10_000))
    stage.hooks["ferrule_models"] = lambda context, model: [info]


def test_a_turn_whose_tokens_are_used_up_asks_the_model_no_more(bench, stage):
    bench.configure("budgets.turn.tokens = 1000")
    stage.turns.extend([[call("note"), spends(1240)], [*say("never"), DONE]])

    bench.turn()

    assert len(stage.requests) == 1
    assert failure(bench) == {
        "message": "the turn's token budget of 1,000 is used up: 1,240 used; raise"
        " `budgets.turn.tokens` to go on",
        "codexErrorInfo": "sessionBudgetExceeded",
    }


def test_an_answer_that_needs_nothing_more_is_no_failure(bench, stage):
    bench.configure("budgets.turn.tokens = 1000")
    stage.turns.append([*say("done"), spends(1240)])

    bench.turn()

    assert status(bench) == "completed"


def test_a_plugin_cannot_keep_a_turn_going_that_has_used_up_its_budget(bench, stage):
    bench.configure("budgets.turn.tokens = 1000")
    stage.hooks["ferrule_turn_stop"] = Continue("go on")
    stage.turns.extend([[*say("done"), spends(1240)], [*say("never"), DONE]])

    bench.turn()

    assert len(stage.requests) == 1
    assert failure(bench)["codexErrorInfo"] == "sessionBudgetExceeded"


def test_every_call_is_answered_when_the_budget_ends_a_turn(bench, stage):
    bench.configure("budgets.turn.tokens = 1000")
    stage.waiting.append(anyio.Event())
    stage.turns.extend([[call("wait"), spends(1000)], [*say("again"), DONE]])

    async def script(session):
        await bench.start(session)
        await bench.until("turn/completed")
        await bench.start(session)
        await bench.until("turn/completed", 2)

    bench.run(script)

    assert status(bench, 0) == "failed"
    assert status(bench, 1) == "completed"
    assert bench.outputs(stage) == {"c1": "aborted"}


def test_little_that_is_left_is_told_once(bench, stage):
    bench.configure("budgets.turn.tokens = 1000")
    stage.turns.extend([[call("note"), spends(n)] for n in (790, 20, 20)])
    stage.turns.append([*say("done"), spends(20)])

    bench.turn()

    assert warnings(bench) == ["810 of the turn's token budget of 1,000 are used"]


def test_a_budget_of_requests_needs_no_usage(bench, stage):
    bench.configure("budgets.turn.requests = 2")
    stage.turns.extend([[call("note"), Completed("r", None)]] * 3)

    bench.turn()

    assert len(stage.requests) == 2
    assert failure(bench)["message"].startswith(
        "the turn's budget of 2 requests is used up: 2 used"
    )


def test_a_turn_ends_when_its_cost_is_reached(bench, stage, priced):
    bench.configure("budgets.turn.cost_usd = 0.5")
    stage.turns.extend([[call("note"), spends(30)]] * 3)

    bench.turn()

    assert len(stage.requests) == 2
    assert failure(bench)["message"].startswith(
        "the turn's cost budget of $0.5 is used up: $0.6000 used"
    )


@pytest.mark.parametrize("scope", ["turn", "thread", "tree"])
def test_a_cost_that_nobody_knows_is_refused_at_the_start(bench, stage, scope):
    bench.configure(f"budgets.{scope}.cost_usd = 0.5")
    stage.turns.append([*say("never"), DONE])

    bench.turn()

    assert stage.requests == []
    assert "no price is known for the model 'test-model'" in failure(bench)["message"]


def test_a_provider_that_tells_no_usage_cannot_keep_a_budget_of_tokens(bench, stage):
    bench.configure("budgets.turn.tokens = 1000")
    stage.turns.extend([[call("note"), Completed("r", None)], [*say("never"), DONE]])

    bench.turn()

    assert len(stage.requests) == 1
    assert "reports no usage" in failure(bench)["message"]


def test_time_that_is_over_cuts_a_request(bench, stage):
    bench.configure("budgets.turn.seconds = 0.05")
    stage.turns.append(["hang"])

    bench.turn()

    assert failure(bench)["message"].startswith("the turn's time budget of 0.05 s is used up")
    assert failure(bench)["codexErrorInfo"] == "sessionBudgetExceeded"


def test_time_that_is_over_ends_a_call(bench, stage):
    bench.configure("budgets.tree.seconds = 0.05")
    stage.waiting.append(anyio.Event())
    stage.turns.append([call("wait"), DONE])

    bench.turn()

    assert failure(bench)["message"].startswith("the tree's time budget of 0.05 s is used up")


def test_little_time_that_is_left_is_told_while_a_call_runs(bench, stage):
    stage.turns.append([*say("one"), DONE])
    session = bench.turn()
    (rollout,) = (bench.host.home / "sessions").rglob("*.jsonl")
    rollout.write_text(re.sub(r'"duration_ms": *\d+', '"duration_ms":9000000', rollout.read_text()))
    bench.configure("budgets.tree.seconds = 10000")
    stage.turns.append([call("wait"), DONE])

    async def script(session):
        began = anyio.Event()
        stage.waiting.append(began)
        await bench.start(session)
        await began.wait()
        await bench.until("warning")
        await bench.perform(session, "turn/interrupt", turnId="")

    bench.run(script, resume=session.thread["id"])

    (warning,) = warnings(bench)
    assert re.fullmatch(r"9\d+ s of the tree's time budget of 10000 s are used", warning)


@pytest.mark.parametrize("scope", ["thread", "tree"])
def test_a_thread_that_is_resumed_has_spent_what_it_had_spent(bench, stage, scope):
    bench.configure(f"budgets.{scope}.tokens = 1000")
    stage.turns.extend([[*say("one"), spends(600)], [*say("two"), spends(600)]])

    session = bench.turn()
    go_on(bench, session)
    assert status(bench) == "completed"
    go_on(bench, session)

    assert failure(bench)["message"].startswith(
        f"the {scope}'s token budget of 1,000 is used up: 1,200 used"
    )
    assert len(stage.requests) == 2


@pytest.mark.parametrize(
    ("limit", "response"),
    [("requests = 1", DONE), ("seconds = 0.000001", DONE), ("cost_usd = 0.1", spends(20))],
)
def test_every_kind_of_budget_survives_the_end_of_a_session(bench, stage, priced, limit, response):
    stage.turns.extend([[*say("one"), response], [*say("never"), response]])

    session = bench.turn()
    bench.configure(f"budgets.thread.{limit}")
    go_on(bench, session)

    assert "is used up" in failure(bench)["message"]
    assert len(stage.requests) == 1


def test_a_history_that_was_shortened_is_no_request(bench, stage):
    bench.configure('compactor = "staged"\nbudgets.thread.requests = 2')
    stage.turns.extend([[*say("one"), DONE], [*say("two"), DONE]])

    async def script(session):
        await bench.start(session)
        await bench.until("turn/completed")
        await bench.perform(session, "thread/compact/start")
        await bench.until("turn/completed", 2)

    go_on(bench, bench.run(script))

    assert len(stage.requests) == 2
    assert status(bench) == "completed"


def test_each_turn_has_the_whole_budget_of_a_turn(bench, stage):
    bench.configure("budgets.turn.tokens = 1000")
    stage.turns.extend([[*say("one"), spends(900)], [*say("two"), spends(900)]])

    async def script(session):
        for count in (1, 2):
            await bench.start(session)
            await bench.until("turn/completed", count)

    bench.run(script)

    assert [status(bench, 0), status(bench, 1)] == ["completed", "completed"]


@pytest.mark.parametrize(("asked", "bound"), [(500, "500"), (5000, "1,000")])
def test_a_client_can_only_narrow_the_budget_of_a_turn(bench, stage, asked, bound):
    bench.configure("budgets.turn.tokens = 1000")
    stage.turns.append([call("note"), spends(1240)])

    async def script(session):
        await bench.start(session, budget={"tokens": asked})
        await bench.until("turn/completed")

    bench.run(script)

    assert f"token budget of {bound} is used up" in failure(bench)["message"]


@given(
    responses=st.lists(st.integers(min_value=1, max_value=400), min_size=1, max_size=12),
    bounds=st.dictionaries(
        st.sampled_from(["turn", "thread", "tree"]), st.integers(min_value=1, max_value=1500)
    ),
)
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_no_more_than_one_response_is_spent_beyond_a_budget(bench, stage, responses, bounds):
    stage.reset()
    bench.events.clear()
    bench.configure("\n".join(f"budgets.{scope}.tokens = {n}" for scope, n in bounds.items()))
    stage.turns.extend([call("note"), spends(tokens)] for tokens in responses)
    stage.turns.append([*say("done"), spends(1)])

    bench.turn()

    used = [
        params["tokenUsage"]["last"]["totalTokens"]
        for params in bench.of("thread/tokenUsage/updated")
    ]
    assert used == [*responses, 1][: len(used)]
    assert all(sum(used[:-1]) < bound for bound in bounds.values())
    assert (status(bench) == "failed") == (len(used) <= len(responses))
