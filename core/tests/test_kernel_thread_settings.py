"""What sticks to a thread: it is told when it changes, and a thread goes on as it was left."""

import pytest
from kernel_plugins.speech import DONE, say

from ferrule_hookspecs.errors import FerruleError
from ferrule_hookspecs.host import ThreadOptions

TEXT = [{"type": "text", "text": "go"}]
READ_ONLY = {"type": "readOnly", "networkAccess": False}


@pytest.fixture
def left(bench):
    """Run operations in a new thread; returns its session."""

    def run(*ops, **changes):
        async def script(session):
            for method, params in ops:
                await bench.perform(session, method, **params)
            turns = sum(method == "turn/start" for method, _ in ops)
            if turns:
                await bench.until("turn/completed", turns)

        return bench.run(script, **changes)

    return run


def update(**params):
    return ("thread/settings/update", params)


async def nothing(session):
    return None


def test_changes_are_told_before_the_turn_they_came_with(left, bench, stage):
    stage.turns.append([*say("ok"), DONE])

    session = left(("turn/start", {"input": TEXT, "model": "other", "effort": "low"}))

    methods = [event["method"] for event in bench.events]
    assert methods.index("thread/settings/updated") < methods.index("turn/started")
    (told,) = bench.of("thread/settings/updated")
    assert told["threadSettings"]["model"] == "other" == session.facts.model
    assert told["threadSettings"]["effort"] == "low" == session.facts.reasoning_effort
    assert stage.requests[0].model == "other"


def test_nothing_is_told_where_nothing_changes(left, bench, stage):
    stage.turns.append([*say("ok"), DONE])

    left(update(model="test-model"), ("turn/start", {"input": TEXT}))

    assert bench.of("thread/settings/updated") == []


def test_settings_change_without_a_turn(left, bench):
    session = left(update(sandboxPolicy=READ_ONLY, approvalPolicy="on-request"))

    assert session.facts.sandbox_mode == "read-only"
    assert session.facts.approval_policy == "on-request"
    assert bench.of("turn/started") == []


@pytest.mark.parametrize(("tier", "sent"), [("fast", "fast"), (None, "default"), ("flex", "flex")])
def test_a_service_tier_reaches_the_model_and_none_is_the_default(left, stage, tier, sent):
    stage.turns.append([*say("ok"), DONE])

    session = left(("turn/start", {"input": TEXT, "serviceTier": tier}))

    assert session.facts.service_tier == sent
    assert stage.requests[0].service_tier == sent


def test_a_thread_can_have_a_reviewer_of_its_own(left, bench, stage):
    bench.configure('[reviewers.asking]\nasks = "staged"')

    session = left(update(approvalsReviewer="asking"))

    assert session.facts.reviewer == "asking"


def test_a_reviewer_must_be_installed(left):
    with pytest.raises(ExceptionGroup) as caught:
        left(update(approvalsReviewer="nobody"))

    (error,) = caught.value.exceptions
    assert isinstance(error, FerruleError)
    assert "nobody" in str(error)


def test_the_administrator_decides_about_reviewers(left, rules):
    rules('allowed_approvals_reviewers = ["staged", "user"]')

    with pytest.raises(ExceptionGroup) as caught:
        left(update(approvalsReviewer="asking"))

    assert "asking" in str(caught.value.exceptions[0])


@pytest.mark.parametrize("with_turn", [True, False], ids=["in a turn", "by themselves"])
def test_a_thread_goes_on_as_it_was_left_where_that_is_wanted(left, bench, stage, with_turn):
    params = {
        "model": "other",
        "effort": "high",
        "summary": "concise",
        "approvalPolicy": "on-request",
        "sandboxPolicy": READ_ONLY,
        "serviceTier": "flex",
    }
    stage.turns.append([*say("ok"), DONE])
    first = left(("turn/start", {"input": TEXT, **params}) if with_turn else update(**params))

    again = bench.run(nothing, resume=first.thread["id"], inherits=True)

    assert again.facts == first.facts


def test_what_a_flag_sets_is_not_inherited(left, bench):
    first = left(update(model="other", sandboxPolicy=READ_ONLY))

    flags = {"sandbox_mode": "workspace-write"}
    again = bench.run(nothing, resume=first.thread["id"], inherits=True, flags=flags)

    assert again.facts.model == "other"
    assert again.facts.sandbox_mode == "workspace-write"


def test_a_thread_goes_on_as_configured_where_nothing_else_is_said(left, bench):
    first = left(update(model="other"))

    again = bench.run(nothing, resume=first.thread["id"])

    assert again.facts.model == "test-model"


def test_what_the_administrator_forbids_by_now_is_not_inherited(left, bench, rules):
    first = left(update(sandboxPolicy={"type": "dangerFullAccess"}))
    rules('allowed_sandbox_modes = ["workspace-write"]')
    bench.events.clear()

    again = bench.run(nothing, resume=first.thread["id"], inherits=True)

    assert again.facts.sandbox_mode == "workspace-write"
    assert "requirements.toml" in bench.of("warning")[0]["message"]


def test_instructions_of_the_client_are_put_before_the_model(bench, stage):
    stage.turns.append([*say("ok"), DONE])

    bench.turn(developer_instructions="Answer in rhymes.")

    texts = [part["text"] for item in stage.requests[0].input for part in item["content"]]
    assert any("Answer in rhymes." in text for text in texts)


def test_options_are_those_of_the_configuration_by_default():
    assert ThreadOptions._field_defaults["inherits"] is False
