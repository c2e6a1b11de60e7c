"""A review is a turn with a conversation of its own; the thread keeps what came of it."""

import json

import anyio
import pytest
from kernel_plugins.speech import DONE, USAGE, call, say

from ferrule_hookspecs.change_review import ReviewResult, ReviewTask
from ferrule_hookspecs.errors import FerruleError, ProviderError
from ferrule_hookspecs.hooks import ContextUpdate
from ferrule_hookspecs.models import ModelInfo, ModelPrices
from ferrule_hookspecs.provider import Completed, ModelRequest

ALONE = 'plugins.disabled = ["review"]\n'
TARGET = {"type": "uncommittedChanges"}
FINDINGS = {
    "findings": [],
    "overall_correctness": "patch is correct",
    "overall_explanation": "fine",
    "overall_confidence_score": 1.0,
}


def read(text):
    return ReviewResult(f"read: {text}", FINDINGS)


TASK = ReviewTask("current changes", "PROMPT", "RUBRIC", ("note", "wait"), read)


@pytest.fixture
def bench(bench):
    """A kernel in which nobody but the stage says how changes are reviewed."""
    bench.configure(ALONE)
    return bench


@pytest.fixture
def review(bench, stage):
    """Do something with a thread, and a review in it when its script says so."""
    stage.hooks["ferrule_review_task"] = TASK

    def run(before=(), after=(), **changes):
        async def script(session):
            for text in before:
                await bench.start(session, text)
                await bench.until("turn/completed", len(bench.of("turn/completed")) + 1)
            await bench.perform(session, "review/start", target=TARGET)
            await bench.until("turn/completed", len(before) + 1)
            for number, text in enumerate(after):
                await bench.start(session, text)
                await bench.until("turn/completed", len(before) + 2 + number)

        return bench.run(script, **changes)

    return run


def texts(request):
    return [part["text"] for item in request.input for part in item.get("content", ())]


def shown(bench):
    return [params["item"]["type"] for params in bench.of("item/completed")]


def test_the_model_of_a_review_sees_the_task_and_nothing_of_the_thread(review, stage):
    stage.turns.extend([[*say("hello"), DONE], [*say("all good"), DONE]])

    review(before=["the secret plan"])

    sent = texts(stage.requests[1])
    assert sent[0] == "RUBRIC"
    assert sent[-1] == "PROMPT"
    assert not any("secret plan" in text for text in sent)
    assert [item["role"] for item in stage.requests[1].input] == ["developer"] * 2 + ["user"] * 2


def test_a_review_uses_the_tools_its_task_names_and_no_others(review, stage):
    stage.turns.append([*say("all good"), DONE])

    review()

    assert {tool.name for tool in stage.requests[0].tools} == {"note", "wait"}


def test_the_items_of_a_review_in_their_order(review, bench, stage):
    words = say("I look first", "m0")
    stage.turns.extend([[*words, call("note", '{"text": "x"}'), DONE], [*say("{}"), DONE]])

    review()

    assert shown(bench) == [
        "enteredReviewMode",
        "userMessage",
        "agentMessage",
        "dynamicToolCall",
        "exitedReviewMode",
        "agentMessage",
    ]
    assert [item["text"] for item in bench.items("agentMessage")] == ["I look first", "read: {}"]
    assert bench.items("enteredReviewMode")[0]["review"] == "current changes"
    (exited,) = bench.items("exitedReviewMode")
    assert (exited["review"], exited["findings"]) == ("read: {}", FINDINGS)
    started = [params["item"]["id"] for params in bench.of("item/started")]
    assert started == [params["item"]["id"] for params in bench.of("item/completed")]
    (turn,) = bench.of("turn/completed")
    assert turn["turn"]["items"][0]["text"] == "read: {}"


def test_nothing_is_heard_of_the_raw_answer_while_it_is_written(review, bench, stage):
    stage.turns.append([*say('{"findings": []}'), DONE])

    review()

    assert not bench.of("item/agentMessage/delta")


def test_the_threads_model_goes_on_from_the_result(review, stage):
    stage.turns.extend([[*say("raw"), DONE], [*say("mended"), DONE]])

    review(after=["mend it"])

    sent = texts(stage.requests[1])
    assert "read: raw" in sent
    assert "RUBRIC" not in sent
    assert "PROMPT" not in sent
    assert any("current changes" in text for text in sent)


def test_a_resumed_thread_goes_on_from_the_result_too(review, bench, stage):
    stage.turns.extend([[call("note", '{"text": "x"}'), DONE], [*say("raw"), DONE]])
    session = review()
    bench.events.clear()
    stage.turns.append([*say("mended"), DONE])

    async def script(session):
        await bench.start(session, "mend it")
        await bench.until("turn/completed")

    bench.run(script, resume=session.thread["id"])

    sent = stage.requests[-1].input
    assert "read: raw" in texts(stage.requests[-1])
    assert "PROMPT" not in texts(stage.requests[-1])
    assert not [item for item in sent if item["type"] == "function_call"]


def test_what_the_reviewing_model_saw_and_said_is_kept_in_the_rollout(review, stage):
    stage.turns.append([*say("raw"), DONE])

    session = review()

    with open(session.thread["path"]) as file:
        records = [json.loads(line) for line in file]
    kept = [each["payload"] for each in records if each["payload"].get("type") == "aside"]
    roles = [each["payload"]["role"] for each in kept if each["record"] == "response_item"]
    assert roles == ["developer", "developer", "user", "user", "assistant"]


def test_what_a_review_uses_counts_for_the_thread(review, bench, stage):
    stage.turns.append([*say("raw"), DONE])

    review()

    (used,) = bench.of("thread/tokenUsage/updated")
    assert used["tokenUsage"]["total"]["totalTokens"] == USAGE["totalTokens"]


def test_another_model_reviews_where_the_task_names_one(review, stage):
    stage.hooks["ferrule_review_task"] = TASK._replace(model="strict-model")
    stage.turns.extend([[*say("raw"), DONE], [*say("mended"), DONE]])

    review(after=["mend it"])

    assert [request.model for request in stage.requests] == ["strict-model", "test-model"]


def test_hooks_hear_of_a_review_as_of_any_turn(review, stage):
    stage.turns.append([*say("raw"), DONE])

    review()

    heard = [name for name, _ in stage.hook_calls]
    for name in ("turn_start", "prompt_submit", "request_before", "turn_end", "notify"):
        assert f"ferrule_{name}" in heard
    asked = next(given for name, given in stage.hook_calls if name == "ferrule_prompt_submit")
    assert asked["prompt"] == [{"type": "text", "text": "current changes"}]


def test_the_prompt_of_a_review_does_not_count_as_the_users_words(review, bench, stage):
    bench.set_key("approval_policy", '"on-request"')
    stage.hooks["ferrule_review_task"] = TASK._replace(tools=("touch",))
    seen = []

    async def decide(request, context):
        seen.append(context)
        return "decline"

    stage.reviews.append(decide)
    outside = json.dumps({"path": str(bench.folder / "outside.txt"), "escalate": True})
    stage.turns.extend([[call("touch", outside), DONE], [*say("raw"), DONE]])

    review()

    (context,) = seen
    assert context.user_texts == ("current changes",)
    assert "PROMPT" in [
        part["text"] for item in context.history for part in item.get("content", ())
    ]


def test_a_review_that_is_interrupted_leaves_review_mode_and_says_so(bench, stage):
    stage.hooks["ferrule_review_task"] = TASK
    stage.turns.extend([[call("wait"), DONE], [*say("ok"), DONE]])

    async def script(session):
        began = anyio.Event()
        stage.waiting.append(began)
        turn = await bench.perform(session, "review/start", target=TARGET)
        await began.wait()
        await bench.perform(session, "turn/interrupt", turnId=turn["turnId"])
        await bench.until("turn/completed")
        await bench.start(session, "and now?")
        await bench.until("turn/completed", 2)

    bench.run(script)

    assert [params["turn"]["status"] for params in bench.of("turn/completed")] == [
        "interrupted",
        "completed",
    ]
    (exited,) = bench.items("exitedReviewMode")
    assert "findings" not in exited
    assert exited["review"] in texts(stage.requests[-1])
    assert {p["item"]["id"] for p in bench.of("item/started")} == {
        p["item"]["id"] for p in bench.of("item/completed")
    }


def test_a_review_that_is_interrupted_at_once_asks_nobody_to_send_it_again(bench, stage):
    stage.hooks["ferrule_review_task"] = TASK

    async def script(session):
        begun = anyio.Event()

        async def hang(**arguments):
            begun.set()
            await anyio.sleep_forever()

        stage.hooks["ferrule_prompt_submit"] = hang
        await bench.perform(session, "review/start", target=TARGET)
        await begun.wait()
        await bench.perform(session, "turn/interrupt", turnId="")
        await bench.until("turn/completed")

    bench.run(script)

    assert not bench.of("warning")
    assert bench.items("exitedReviewMode")


def test_a_review_whose_model_says_nothing_fails(review, bench, stage):
    stage.turns.append([DONE])

    review()

    (ended,) = bench.of("turn/completed")
    assert ended["turn"]["status"] == "failed"
    assert "gave no answer" in ended["turn"]["error"]["message"]
    assert bench.items("exitedReviewMode")


def test_an_answer_the_plugin_cannot_read_fails_the_turn_and_not_the_session(review, bench, stage):
    def broken(text):
        raise RuntimeError("no idea")

    stage.hooks["ferrule_review_task"] = TASK._replace(read=broken)
    stage.turns.extend([[*say("raw"), DONE], [*say("still here"), DONE]])

    review(after=["are you there?"])

    failed, completed = bench.of("turn/completed")
    assert "no idea" in failed["turn"]["error"]["message"]
    assert completed["turn"]["status"] == "completed"


@pytest.mark.parametrize(
    ("first", "second", "refusal"),
    [
        ("review/start", "turn/start", "a review runs"),
        ("review/start", "review/start", "a review runs"),
        ("review/start", "thread/compact/start", "a review runs"),
        ("turn/start", "review/start", "a turn runs"),
    ],
)
def test_neither_a_review_nor_what_runs_beside_it_is_lost(bench, stage, first, second, refusal):
    stage.hooks["ferrule_review_task"] = TASK
    stage.turns.extend([[call("wait"), DONE], [*say("ok"), DONE]])
    params = {
        "review/start": {"target": TARGET},
        "turn/start": {"input": [{"type": "text", "text": "go"}]},
        "thread/compact/start": {},
    }

    async def script(session):
        began = anyio.Event()
        stage.waiting.append(began)
        await bench.perform(session, first, **params[first])
        await began.wait()
        with pytest.raises(FerruleError, match=refusal):
            await bench.perform(session, second, **params[second])
        await bench.perform(session, "turn/interrupt", turnId="")
        await bench.until("turn/completed")

    bench.run(script)

    assert len(bench.of("turn/completed")) == 1
    prepared = [name for name, _ in stage.hook_calls].count("ferrule_review_task")
    assert prepared == (1 if first == "review/start" else 0)


def test_a_review_can_follow_an_interrupt_at_once(bench, stage):
    stage.hooks["ferrule_review_task"] = TASK
    stage.turns.extend([[call("wait"), DONE], [*say("raw"), DONE]])

    async def script(session):
        began = anyio.Event()
        stage.waiting.append(began)
        await bench.start(session)
        await began.wait()
        await session.submit(
            {
                "id": "2",
                "method": "turn/interrupt",
                "params": {"threadId": session.thread["id"], "turnId": ""},
            }
        )
        await bench.perform(session, "review/start", target=TARGET)
        await bench.until("turn/completed", 2)

    bench.run(script)

    assert [params["turn"]["status"] for params in bench.of("turn/completed")] == [
        "interrupted",
        "completed",
    ]


def test_items_put_in_during_a_review_belong_to_the_thread(bench, stage):
    stage.hooks["ferrule_review_task"] = TASK._replace(tools=("command",))
    flag = bench.folder / "go"
    script = json.dumps({"argv": ["sh", "-c", f"until [ -e {flag} ]; do sleep 0.02; done"]})
    stage.turns.extend([[call("command", script), DONE], [*say("raw"), DONE], [*say("ok"), DONE]])
    note = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "NB"}]}

    async def script(session):
        began = anyio.Event()
        stage.waiting.append(began)
        await bench.perform(session, "review/start", target=TARGET)
        await began.wait()
        await bench.perform(session, "thread/inject_items", items=[note])
        flag.touch()
        await bench.until("turn/completed")
        await bench.start(session)
        await bench.until("turn/completed", 2)

    bench.run(script)

    assert "NB" not in texts(stage.requests[1])
    assert "NB" in texts(stage.requests[2])


def test_without_a_plugin_that_reviews_the_answer_says_what_to_install(bench, stage):
    stage.hooks["ferrule_review_task"] = None

    async def script(session):
        with pytest.raises(FerruleError, match="install ferrule-review"):
            await bench.perform(session, "review/start", target=TARGET)

    bench.run(script)


def test_a_review_that_no_longer_fits_is_compacted_and_the_thread_is_not(review, bench, stage):
    bench.configure(ALONE + 'compactor = "staged"')
    full = ProviderError("too long", retryable=False, kind="contextWindowExceeded")
    stage.turns.extend([[*say("kept"), DONE], [call("note", '{"text": "x"}'), DONE], [full]])
    stage.turns.extend([[*say("raw"), DONE], [*say("mended"), DONE]])
    session = review(before=["remember this"])
    bench.events.clear()

    async def script(session):
        await bench.start(session, "mend it")
        await bench.until("turn/completed")

    bench.run(script, resume=session.thread["id"])

    shortened, resumed = texts(stage.requests[-2]), texts(stage.requests[-1])
    assert "compacted: overflow" in shortened
    assert (shortened[0], shortened[3]) == ("RUBRIC", "PROMPT")
    assert "remember this" in resumed
    assert "read: raw" in resumed
    assert "compacted: overflow" not in resumed


def test_a_session_that_closes_does_not_wait_for_a_plugin_that_prepares_a_review(bench, stage):
    refusals = []

    async def script(session):
        asked = anyio.Event()

        async def hang(**arguments):
            asked.set()
            await anyio.sleep_forever()

        async def ask():
            try:
                await bench.perform(session, "review/start", target=TARGET)
            except FerruleError as error:
                refusals.append(str(error))

        stage.hooks["ferrule_review_task"] = hang
        async with anyio.create_task_group() as group:
            group.start_soon(ask)
            await asked.wait()
            await session.close()

    bench.run(script)

    assert len(refusals) == 1
    assert not bench.of("turn/started")


def test_a_review_ends_where_its_budget_does(review, bench, stage):
    bench.configure(ALONE + "budgets.turn.tokens = 100")
    stage.turns.append([call("wait"), DONE])

    review()

    (ended,) = bench.of("turn/completed")
    assert ended["turn"]["status"] == "failed"
    assert "budget" in ended["turn"]["error"]["message"]
    assert shown(bench)[-1] == "exitedReviewMode"
    assert "findings" not in bench.items("exitedReviewMode")[0]


def test_a_review_is_taken_back_like_any_turn(bench, stage):
    stage.hooks["ferrule_review_task"] = TASK
    stage.turns.extend([[*say("kept"), DONE], [*say("raw"), DONE], [*say("ok"), DONE]])

    async def script(session):
        await bench.start(session, "remember this")
        await bench.until("turn/completed")
        await bench.perform(session, "review/start", target=TARGET)
        await bench.until("turn/completed", 2)
        await bench.perform(session, "thread/rollback", numTurns=1)
        await bench.start(session, "go on")
        await bench.until("turn/completed", 3)

    bench.run(script)

    sent = texts(stage.requests[-1])
    assert "remember this" in sent
    assert "read: raw" not in sent
    assert not any("review_of_changes" in text for text in sent)


def test_what_plugins_say_of_the_project_stays_away_after_a_compaction_too(review, bench, stage):
    bench.configure(ALONE + 'compactor = "staged"')
    full = ProviderError("too long", retryable=False, kind="contextWindowExceeded")
    stage.turns.extend([[call("note", '{"text": "x"}'), DONE], [full], [*say("raw"), DONE]])
    stage.hooks["ferrule_context_updates"] = lambda context, told: (
        [] if told.get("rules") else [ContextUpdate("rules", "1", "RULES OF THE PROJECT", "user")]
    )

    review()

    assert "compacted: overflow" in texts(stage.requests[-1])
    assert not any("RULES" in text for request in stage.requests for text in texts(request))


def test_what_is_asked_of_a_model_beside_a_review_counts_once(review, bench, stage):
    bench.configure(ALONE + "budgets.turn.tokens = 500")
    bench.set_key("approval_policy", '"on-request"')
    stage.hooks["ferrule_review_task"] = TASK._replace(tools=("touch",))

    async def decide(request, context):
        stage.turns.appendleft([*say("fine"), Completed("r", {**USAGE, "totalTokens": 300})])
        asked = ModelRequest("review", request.turn_id, "small", (), (), kind="review")
        async for _ in context.provider("").stream(asked):
            pass
        return "decline"

    stage.reviews.append(decide)
    outside = json.dumps({"path": str(bench.folder / "outside.txt"), "escalate": True})
    few = Completed("r", {**USAGE, "totalTokens": 10})
    stage.turns.extend([[call("touch", outside), few], [*say("raw"), few]])

    review()

    (ended,) = bench.of("turn/completed")
    assert ended["turn"]["status"] == "completed"


def test_a_budget_of_money_binds_the_model_that_reviews(review, bench, stage):
    bench.configure(ALONE + "budgets.turn.cost_usd = 1.0")
    known = ModelInfo("test-model", prices=ModelPrices(1, 1))
    stage.hooks["ferrule_models"] = lambda context, model: [known]
    stage.hooks["ferrule_review_task"] = TASK._replace(model="strict-model")
    stage.turns.append([*say("raw"), DONE])

    review()

    assert stage.requests == []
    (ended,) = bench.of("turn/completed")
    assert "no price is known for the model 'strict-model'" in ended["turn"]["error"]["message"]


def test_how_full_a_review_was_says_nothing_of_the_thread(review, bench, stage):
    bench.configure(ALONE + 'compactor = "staged"\nmodel_auto_compact_token_limit = 5000')
    large = Completed("r", {**USAGE, "totalTokens": 90_000})
    stage.turns.extend([[*say("hello"), DONE], [*say("raw"), large], [*say("mended"), DONE]])
    session = review(before=["hi"])
    bench.events.clear()

    bench.turn(resume=session.thread["id"])

    assert "contextCompaction" not in shown(bench)
