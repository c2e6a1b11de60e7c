"""Operations that meet a turn at an awkward moment: none is lost, and what is refused is told."""

import anyio
import pytest
from kernel_plugins.speech import DONE, call, say

from ferrule_hookspecs.errors import FerruleError, ProviderError
from ferrule_hookspecs.hooks import Continue, PromptReply


def said(request):
    return [
        part["text"]
        for item in request.input
        if item["type"] == "message" and item["role"] == "user"
        for part in item["content"]
    ][1:]


def statuses(bench):
    return [params["turn"]["status"] for params in bench.of("turn/completed")]


async def submit(session, method, **params):
    params = {"threadId": session.thread["id"], **params}
    await session.submit({"id": "9", "method": method, "params": params})


def test_input_at_the_very_end_of_a_turn_is_answered_in_it(bench, stage):
    stage.turns.extend([[*say("a"), DONE], [*say("b"), DONE]])

    async def script(session):
        deciding, steered = anyio.Event(), anyio.Event()

        async def stop(turn, last_message):
            deciding.set()
            await steered.wait()

        stage.hooks["ferrule_turn_stop"] = stop
        await bench.start(session, "first")
        await deciding.wait()
        await bench.start(session, "second")
        await anyio.wait_all_tasks_blocked()
        steered.set()
        await bench.until("turn/completed")

    bench.run(script)

    assert len(bench.of("turn/started")) == 1
    assert said(stage.requests[-1]) == ["first", "second"]


def test_input_that_a_failed_turn_did_not_take_begins_the_next_one(bench, stage):
    stage.turns.extend([[call("wait"), DONE], [*say("ok"), DONE]])
    broken = ProviderError("no such model")

    async def script(session):
        asked, steered = anyio.Event(), anyio.Event()

        async def before(request, turn):
            if not asked.is_set():
                asked.set()
                await steered.wait()

        stage.hooks["ferrule_request_before"] = before
        stage.turns[0] = [broken]
        await bench.start(session, "first")
        await asked.wait()
        await bench.start(session, "second")
        await anyio.wait_all_tasks_blocked()
        steered.set()
        await bench.until("turn/completed", 2)

    bench.run(script)

    assert statuses(bench) == ["failed", "completed"]
    assert said(stage.requests[-1]) == ["first", "second"]


def test_input_that_an_interrupted_turn_did_not_take_is_told(bench, stage):
    stage.turns.append([call("wait"), DONE])

    async def script(session):
        began = anyio.Event()
        stage.waiting.append(began)
        await bench.start(session, "first")
        await began.wait()
        await bench.start(session, "second")
        await submit(session, "turn/interrupt", turnId="")
        await bench.until("turn/completed")

    bench.run(script)

    assert statuses(bench) == ["interrupted"]
    assert "'second'" in bench.of("warning")[0]["message"]


def test_steered_input_is_told_where_an_interrupt_comes_while_plugins_look_at_it(bench, stage):
    stage.turns.append([call("note"), DONE])

    async def script(session):
        asked, steered, looking = anyio.Event(), anyio.Event(), anyio.Event()

        async def before(request, turn):
            asked.set()
            await steered.wait()

        async def look(prompt, turn):
            if prompt[0]["text"] == "second":
                looking.set()
                await anyio.sleep_forever()

        stage.hooks |= {"ferrule_request_before": before, "ferrule_prompt_submit": look}
        await bench.start(session, "first")
        await asked.wait()
        await bench.start(session, "second")
        await anyio.wait_all_tasks_blocked()
        steered.set()
        await looking.wait()
        await submit(session, "turn/interrupt", turnId="")
        await bench.until("turn/completed")

    bench.run(script)

    assert statuses(bench) == ["interrupted"]
    assert "'second'" in bench.of("warning")[0]["message"]


def test_input_during_a_compaction_replaces_it(bench, stage):
    bench.configure('compactor = "staged"')
    stage.turns.append([*say("ok"), DONE])
    stage.hooks["summary"] = "hang"

    async def script(session):
        await submit(session, "thread/compact/start")
        await bench.until("item/started")
        await bench.start(session, "go on")
        await bench.until("turn/completed", 2)

    bench.run(script)

    assert statuses(bench) == ["interrupted", "completed"]
    assert "go on" in said(stage.requests[-1])


def test_steered_input_that_a_plugin_refuses_leaves_the_turn_alone(bench, stage):
    stage.turns.extend([[call("note"), DONE], [*say("ok"), DONE]])

    def judge(prompt, turn):
        return PromptReply(block_reason="not this") if prompt[0]["text"] == "bad" else None

    stage.hooks["ferrule_prompt_submit"] = judge

    async def script(session):
        asked, steered = anyio.Event(), anyio.Event()

        async def before(request, turn):
            if not asked.is_set():
                asked.set()
                await steered.wait()

        stage.hooks["ferrule_request_before"] = before
        await bench.start(session, "good")
        await asked.wait()
        await bench.start(session, "bad")
        await bench.start(session, "good too")
        await anyio.wait_all_tasks_blocked()
        steered.set()
        await bench.until("turn/completed")

    bench.run(script)

    assert statuses(bench) == ["completed"]
    assert "not this" in bench.of("warning")[0]["message"]
    assert said(stage.requests[-1]) == ["good", "good too"]


def test_settings_of_input_that_is_steered_hold_from_the_next_turn_on(bench, stage):
    stage.turns.extend([[call("wait"), DONE], [*say("ok"), DONE]])

    async def script(session):
        began = anyio.Event()
        stage.waiting.append(began)
        await bench.start(session, "first")
        await began.wait()
        await bench.start(session, "second", model="another")
        await submit(session, "turn/interrupt", turnId="")
        await bench.until("turn/completed")
        await bench.start(session, "third")
        await bench.until("turn/completed", 2)

    bench.run(script)

    assert [request.model for request in stage.requests] == ["test-model", "another"]


@pytest.mark.parametrize(
    ("method", "params", "told"),
    [
        ("turn/steer", {"input": []}, "no active turn"),
        ("serverRequest/answer", {"requestId": 7, "result": {}}, "not open"),
        ("thread/rollback", {"numTurns": 0}, "cannot roll back"),
    ],
)
def test_what_makes_no_sense_while_idle_is_told_and_does_no_harm(
    bench, stage, method, params, told
):
    stage.turns.append([*say("ok"), DONE])

    async def script(session):
        await submit(session, method, **params)
        await submit(session, "turn/interrupt", turnId="")
        await bench.start(session)
        await bench.until("turn/completed")

    bench.run(script)

    assert told in bench.of("warning")[0]["message"]
    assert statuses(bench) == ["completed"]


def test_steering_names_the_turn_it_means(bench, stage):
    stage.turns.append([call("wait"), DONE])

    async def script(session):
        began = anyio.Event()
        stage.waiting.append(began)
        await bench.start(session, "first")
        await began.wait()
        content = [{"type": "text", "text": "late"}]
        await submit(session, "turn/steer", input=content, expectedTurnId="an earlier one")
        await bench.until("warning")

    bench.run(script)

    assert (
        "expected active turn id `an earlier one` but found `" in bench.of("warning")[0]["message"]
    )


def test_a_thread_waits_for_approval_until_its_last_question_is_answered(bench, stage):
    path = bench.host.home / "config.toml"
    path.write_text(path.read_text().replace('"never"', '"on-request"'))
    stage.turns.extend([[call("refused"), call("refused", id_="c2"), DONE], [*say("ok"), DONE]])
    stage.reviews.extend(["ask the client", "ask the client"])

    async def script(session):
        await bench.start(session)
        await bench.until("item/commandExecution/requestApproval", 2)
        for number in (0, 1):
            result = {"decision": "accept"}
            await submit(session, "serverRequest/answer", requestId=number, result=result)
            await bench.until("serverRequest/resolved", number + 1)
        await bench.until("turn/completed")

    bench.run(script, can_answer=True)

    flags = [p["status"].get("activeFlags") for p in bench.of("thread/status/changed")]
    waiting = ["waitingOnApproval"]
    assert flags == [[], waiting, waiting, waiting, [], None]


def test_a_stop_hook_prolongs_a_turn_with_a_cap(bench, stage):
    stage.turns.extend([[*say(f"{n}"), DONE] for n in range(12)])
    stage.hooks["ferrule_turn_stop"] = Continue("more")

    bench.turn()

    assert len(stage.requests) == 9


def test_a_fork_of_a_running_thread_is_well_formed(bench, stage):
    stage.turns.extend([[call("wait"), "hang"], [*say("ok"), DONE]])

    async def main(kernel):
        session = await kernel.threads.start(bench.options(kernel))
        began = anyio.Event()
        stage.waiting.append(began)
        await bench.start(session)
        await began.wait()
        fork = await kernel.threads.fork(session.thread["id"], bench.options(kernel))
        async with anyio.create_task_group() as group:
            group.start_soon(bench.read, fork)
            await bench.start(fork, "on the fork")
            await bench.until("turn/completed")
            await fork.close()

    bench.host.run(main)

    assert bench.outputs(stage) == {"c1": "aborted"}


def test_events_can_be_read_after_the_session_was_closed(bench, stage):
    stage.turns.append([*say("ok"), DONE])

    async def main(kernel):
        session = await kernel.threads.start(bench.options(kernel))
        await bench.start(session)
        await anyio.wait_all_tasks_blocked()
        await session.close()
        return [event["method"] async for event in session.events()]

    methods = bench.host.run(main)

    assert methods[0] == "thread/started"
    assert methods[-1] == "thread/closed"


def test_after_a_shutdown_operations_are_refused_rather_than_lost(bench, stage):
    stage.turns.append(["hang"])

    async def script(session):
        await bench.start(session)
        await bench.until("turn/started")
        await submit(session, "thread/shutdown")
        await bench.until("thread/closed")
        with pytest.raises(FerruleError, match="is closed"):
            await bench.start(session)

    bench.run(script)

    assert statuses(bench) == ["interrupted"]


def test_a_session_that_was_interrupted_once_and_went_on_ends_closed(bench, stage):
    stage.turns.extend([["hang"], [*say("ok"), DONE]])

    async def script(session):
        await bench.start(session)
        await bench.until_asked(stage)
        await submit(session, "turn/interrupt", turnId="")
        await bench.until("turn/completed")
        await bench.start(session)
        await bench.until("turn/completed", 2)

    bench.run(script)

    ends = [arguments for name, arguments in stage.hook_calls if name == "ferrule_session_end"]
    assert [end["reason"] for end in ends] == ["closed"]
