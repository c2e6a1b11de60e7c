"""What the model is told of changes: once, at the end, and the beginning stays byte for byte."""

import contextlib
import itertools
import json
import os
import time
from pathlib import Path

import pytest
from kernel_plugins.speech import DONE, say

from ferrule_hookspecs.errors import ConfigError
from ferrule_hookspecs.hooks import ContextFragment, ContextUpdate


def sent(stage):
    """The input of every request, each item as its bytes."""
    return [[json.dumps(item) for item in request.input] for request in stage.requests]


def notes(stage, request):
    """What came new with a request, before the user's own words."""
    fresh = sent(stage)[request][len(sent(stage)[request - 1]) :]
    items = [json.loads(item) for item in fresh]
    return [i["content"][0]["text"] for i in items if i["role"] != "assistant"][:-1]


@contextlib.contextmanager
def time_zone(name):
    before = os.environ.get("TZ")
    os.environ["TZ"] = name
    time.tzset()
    try:
        yield
    finally:
        os.environ.pop("TZ") if before is None else os.environ.update(TZ=before)
        time.tzset()


async def turn(bench, session, count, text="go", **params):
    await bench.start(session, text, **params)
    await bench.until("turn/completed", count)


def test_the_prefix_stays_the_same_whatever_changes_between_turns(bench, stage):
    elsewhere = bench.workspace / "sub"
    elsewhere.mkdir()
    stage.turns.extend([[*say("yes"), DONE]] * 7)
    changes = [
        {},
        {"cwd": str(elsewhere)},
        {"approvalPolicy": "on-request"},
        {},
        {"sandboxPolicy": {"type": "readOnly", "networkAccess": True}},
        {"model": "other-model"},
        {},
    ]

    async def script(session):
        for number, params in enumerate(changes):
            if number == 3:
                stage.hooks["ferrule_context_updates"] = lambda context, told: [
                    ContextUpdate("house", "1", "" if told.get("house") else "Be kind.", "user")
                ]
            await turn(bench, session, number + 1, **params)

    bench.run(script)

    requests = sent(stage)
    for before, after in itertools.pairwise(requests):
        assert after[: len(before)] == before
    told = [notes(stage, number) for number in range(1, len(changes))]
    assert [len(each) for each in told] == [1, 1, 1, 1, 1, 0]
    assert f"<cwd>{elsewhere}</cwd>" in told[0][0]
    assert "current_date" not in told[0][0]
    assert "Approvals: on-request" in told[1][0]
    assert told[2] == ["Be kind."]
    assert "Sandbox: readOnly" in told[3][0]
    assert "The network can be used." in told[3][0]
    assert "other-model" in told[4][0]


def test_nothing_is_told_over_a_resume_where_nothing_changed(bench, stage):
    stage.hooks["ferrule_context_fragments"] = [ContextFragment("Be kind.", key="a", state="1")]
    stage.hooks["ferrule_context_updates"] = lambda context, told: (
        [] if told == {"a": "1"} else [ContextUpdate("a", "1", "Be kind again.")]
    )
    stage.turns.extend([[*say("yes"), DONE]] * 2)

    session = bench.turn()
    bench.events.clear()
    bench.turn(resume=session.thread["id"])

    assert notes(stage, 1) == []


def test_what_changed_meanwhile_is_told_when_a_thread_goes_on(bench, stage):
    stage.turns.extend([[*say("yes"), DONE]] * 3)
    thread = None
    for zone in ("WEST12", "EAST-14", "EAST-14"):  # 26 hours: never the same date
        with time_zone(zone):
            thread = bench.turn(resume=thread).thread["id"]
        bench.events.clear()

    (note,) = notes(stage, 1)
    assert "<current_date>" in note
    assert "<cwd>" not in note
    assert notes(stage, 2) == []


def test_a_turn_that_is_taken_back_takes_its_note_back(bench, stage):
    stage.turns.extend([[*say("yes"), DONE]] * 3)

    async def script(session):
        await turn(bench, session, 1)
        await turn(bench, session, 2, approvalPolicy="on-request")
        await bench.perform(session, "thread/rollback", numTurns=1)
        await turn(bench, session, 3)

    bench.run(script)

    assert "Approvals: on-request" in sent(stage)[2][len(sent(stage)[0]) + 1]


def test_files_that_were_read_are_named_to_clients_over_a_resume_too(bench, stage):
    fragment = ContextFragment("Be kind.", source=("/one", "/two"))
    stage.hooks["ferrule_context_fragments"] = [fragment]
    stage.turns.extend([[*say("yes"), DONE]] * 2)
    sources = []

    async def script(session):
        sources.append(tuple(session.facts.instruction_sources))
        await bench.start(session)
        await bench.until("turn/completed")

    session = bench.run(script)
    bench.events.clear()
    bench.run(script, resume=session.thread["id"])

    assert sources == [("/one", "/two")] * 2
    assert len(sent(stage)[1]) == len(sent(stage)[0]) + 2


def test_after_a_compaction_what_differs_from_the_beginning_is_told_again(bench, stage):
    bench.configure('compactor = "staged"')
    stage.hooks["ferrule_context_fragments"] = [ContextFragment("Be kind.", key="a", state="1")]
    stage.hooks["ferrule_context_updates"] = lambda context, told: (
        [] if told["a"] == "2" else [ContextUpdate("a", "2", "Be stern.")]
    )
    stage.turns.extend([[*say("yes"), DONE]] * 3)

    async def script(session):
        await turn(bench, session, 1)
        await turn(bench, session, 2, approvalPolicy="on-request")
        await bench.perform(session, "thread/compact/start")
        await bench.until("turn/completed", 3)
        await turn(bench, session, 4)

    bench.run(script)

    first, last = sent(stage)[0], sent(stage)[-1]
    assert last[:3] == first[:3]
    news = [json.loads(item)["content"][0]["text"] for item in last if item not in first]
    assert len([text for text in news if "Be stern." in text]) == 1
    assert len([text for text in news if "Approvals: on-request" in text]) == 1


def test_a_kill_right_after_a_compaction_leaves_nothing_untold(bench, stage):
    def configure(approval):
        bench.configure('compactor = "staged"')
        bench.set_key("approval_policy", json.dumps(approval))

    async def compacting(session):
        await turn(bench, session, 1)
        await bench.perform(session, "thread/compact/start")
        await bench.until("turn/completed", 2)

    stage.turns.extend([[*say("yes"), DONE]] * 3)
    configure("never")
    thread = bench.turn().thread
    bench.events.clear()
    configure("on-request")
    bench.run(compacting, resume=thread["id"])
    bench.events.clear()
    rollout = Path(thread["path"])
    lines = rollout.read_text().splitlines(keepends=True)
    kept = [n for n, line in enumerate(lines) if json.loads(line)["type"] == "compacted"][-1] + 1
    rollout.write_text("".join(lines[:kept]))
    bench.turn(resume=thread["id"])

    told = [text for text in sent(stage)[-1] if "Approvals: on-request" in text]
    assert len(told) == 1


def test_configured_instructions_are_added_to_the_base_prompt(bench, stage):
    (bench.workspace / "base.md").write_text("You are a clerk.\n")
    file = json.dumps(str(bench.workspace / "base.md"))
    bench.configure(f'instructions = "Be brief."\nmodel_instructions_file = {file}')
    stage.turns.append([*say("yes"), DONE])

    bench.turn()

    text = stage.requests[0].input[0]["content"][0]["text"]
    assert text == "You are a clerk.\n\nBe brief."


@pytest.mark.parametrize(("data", "reason"), [(None, "No such file"), (b"caf\xe9", "not UTF-8")])
def test_a_base_prompt_that_cannot_be_read_is_named(bench, data, reason):
    file = bench.workspace / "base.md"
    if data is not None:
        file.write_bytes(data)
    bench.configure(f"model_instructions_file = {json.dumps(str(file))}")

    with pytest.raises(ConfigError, match=rf"model_instructions_file: .*base\.md.*{reason}"):
        bench.turn()
