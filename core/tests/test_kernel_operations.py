"""Operations are taken or refused in the words that clients know."""

import anyio
import pytest
from kernel_plugins.speech import DONE, call, say

from ferrule_hookspecs.errors import FerruleError

TEXT = [{"type": "text", "text": "go"}]


def statuses(bench):
    return [params["turn"]["status"] for params in bench.of("turn/completed")]


def flags(bench):
    return [params["status"].get("activeFlags") for params in bench.of("thread/status/changed")]


@pytest.fixture
def idle(bench):
    """Perform an operation in a session in which nothing runs; returns what refuses it."""

    def run(method, **params):
        caught = []

        async def script(session):
            try:
                await bench.perform(session, method, **params)
            except FerruleError as error:
                caught.append(str(error))

        bench.run(script)
        return caught[0] if caught else None

    return run


@pytest.fixture
def busy(bench, stage):
    """Perform operations while a turn waits; returns the turn's id and what refused them."""

    def run(*ops):
        stage.turns.extend([[call("wait"), DONE], [*say("ok"), DONE]])
        caught = []

        async def script(session):
            began = anyio.Event()
            stage.waiting.append(began)
            turn = await bench.perform(session, "turn/start", input=TEXT)
            await began.wait()
            for method, params in ops:
                params = {
                    key: turn["turnId"] if value == "THE TURN" else value
                    for key, value in params.items()
                }
                try:
                    await bench.perform(session, method, **params)
                except FerruleError as error:
                    caught.append(str(error))
            caught.insert(0, turn["turnId"])

        bench.run(script)
        return caught

    return run


def test_steering_needs_a_turn(idle):
    assert idle("turn/steer", input=TEXT, expectedTurnId="t") == "no active turn to steer"


def test_steering_names_the_turn_that_runs(busy):
    turn, error = busy(("turn/steer", {"input": TEXT, "expectedTurnId": "other"}))

    assert error == f"expected active turn id `other` but found `{turn}`"


def test_interrupting_needs_a_turn(idle):
    assert idle("turn/interrupt", turnId="t") == "no active turn to interrupt"


def test_interrupting_whatever_runs_is_fine_when_nothing_does(idle):
    assert idle("turn/interrupt", turnId="") is None


def test_interrupting_names_the_turn_that_runs(busy):
    turn, error = busy(("turn/interrupt", {"turnId": "other"}))

    assert error == f"expected active turn id other but found {turn}"


def test_a_turn_can_be_interrupted_right_after_it_was_taken(bench, stage):
    stage.turns.append(["hang"])

    async def script(session):
        turn = await bench.perform(session, "turn/start", input=TEXT)
        await bench.perform(session, "turn/interrupt", turnId=turn["turnId"])
        await bench.until("turn/completed")

    bench.run(script)

    assert statuses(bench) == ["interrupted"]
    assert bench.items("userMessage") or "'go'" in bench.of("warning")[0]["message"]


def test_input_behind_an_interrupt_begins_a_turn_of_its_own(bench, stage):
    stage.turns.extend([["hang"], [*say("ok"), DONE]])

    async def script(session):
        first = await bench.perform(session, "turn/start", input=TEXT)
        await bench.until("item/completed")
        await bench.until_asked(stage)
        await bench.perform(session, "turn/interrupt", turnId=first["turnId"])
        second = await bench.perform(session, "turn/start", input=TEXT)
        await bench.until("turn/completed", 2)
        assert first != second

    bench.run(script)

    assert statuses(bench) == ["interrupted", "completed"]


def test_what_still_waits_when_a_session_closes_is_refused(bench, stage):
    caught = []

    async def script(session):
        async def ask():
            try:
                await bench.perform(session, "turn/start", input=TEXT)
            except FerruleError as error:
                caught.append(str(error))

        async with anyio.create_task_group() as group:
            group.start_soon(bench.perform, session, "thread/shutdown")
            group.start_soon(ask)

    bench.run(script)

    assert len(caught) == 1
    assert "is closed" in caught[0]


def test_a_value_that_is_refused_starts_no_turn_where_somebody_hears_of_it(idle, bench):
    error = idle("turn/start", input=TEXT, approvalPolicy="sometimes")

    assert "sometimes" in error
    assert bench.of("turn/started") == []


def test_the_client_s_name_of_a_message_comes_back(bench, stage):
    stage.turns.extend([[call("note"), DONE], [*say("ok"), DONE]])

    async def script(session):
        asked, steered = anyio.Event(), anyio.Event()

        async def before(request, turn):
            if not asked.is_set():
                asked.set()
                await steered.wait()

        stage.hooks["ferrule_request_before"] = before
        await bench.perform(session, "turn/start", input=TEXT, clientUserMessageId="m-1")
        await asked.wait()
        await bench.perform(session, "turn/steer", input=TEXT, clientUserMessageId="m-2")
        steered.set()
        await bench.until("turn/completed")

    bench.run(script)

    assert [item["clientId"] for item in bench.items("userMessage")] == ["m-1", "m-2"]


def test_the_end_of_a_turn_carries_its_last_message(bench, stage):
    stage.turns.append([*say("the end"), DONE])

    bench.turn()

    (ended,) = bench.of("turn/completed")
    assert [item["text"] for item in ended["turn"]["items"]] == ["the end"]
    assert ended["turn"]["itemsView"] == "summary"
    assert bench.of("turn/started")[0]["turn"]["items"] == []
