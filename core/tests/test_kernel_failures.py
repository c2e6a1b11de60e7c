"""How clients are told of turns that fail or are cut short."""

import anyio
import pytest
from kernel_plugins.speech import DONE, ItemAdded, TextDelta, call, say

from ferrule_hookspecs.errors import ProviderError


def told(bench):
    """The statuses, errors and ends of turns, in order."""
    shown = []
    for event in bench.events:
        params = event["params"]
        match event["method"]:
            case "thread/status/changed":
                shown.append(params["status"]["type"])
            case "error":
                shown.append(("error", params["willRetry"]))
            case "turn/completed":
                shown.append(params["turn"]["status"])
    return shown


def test_a_turn_that_fails_leaves_the_thread_with_an_error_told_before_its_end(bench, stage):
    stage.turns.append([ProviderError("no such model", details="the server said so")])

    bench.turn()

    assert told(bench) == ["active", "systemError", ("error", False), "failed"]
    (ended,) = bench.of("turn/completed")
    assert ended["turn"]["error"] == bench.of("error")[0]["error"]
    assert ended["turn"]["error"]["message"] == "no such model"
    assert ended["turn"]["error"]["additionalDetails"] == "the server said so"


def test_the_next_turn_makes_a_thread_with_an_error_active_again(bench, stage):
    stage.turns.extend([[ProviderError("no")], [*say("ok"), DONE]])

    async def script(session):
        for count in (1, 2):
            await bench.start(session)
            await bench.until("turn/completed", count)

    bench.run(script)

    assert told(bench)[-3:] == ["active", "idle", "completed"]


@pytest.mark.parametrize(
    ("kind", "status", "info"),
    [
        ("contextWindowExceeded", 400, "contextWindowExceeded"),
        ("unauthorized", 401, "unauthorized"),
        ("httpConnectionFailed", 403, {"httpConnectionFailed": {"httpStatusCode": 403}}),
        (
            "responseStreamDisconnected",
            None,
            {"responseStreamDisconnected": {"httpStatusCode": None}},
        ),
    ],
)
def test_errors_have_the_classes_that_clients_know(bench, stage, kind, status, info):
    stage.turns.append([ProviderError("no", kind=kind, status=status)])

    bench.turn()

    assert bench.of("error")[0]["error"]["codexErrorInfo"] == info


def test_what_the_model_had_said_when_it_was_interrupted_is_kept(bench, stage):
    added = ItemAdded({"type": "message", "id": "m1", "role": "assistant", "content": []})
    stage.turns.append([added, TextDelta("one "), TextDelta("two "), "hang"])
    stage.turns.append([*say("ok", "m2"), DONE])

    async def script(session):
        await bench.start(session, "talk")
        while "".join(d["delta"] for d in bench.of("item/agentMessage/delta")) != "one two ":
            await anyio.sleep(0.001)
        await bench.perform(session, "turn/interrupt", turnId="")
        await bench.until("turn/completed")
        await bench.start(session, "go on")
        await bench.until("turn/completed", 2)

    session = bench.run(script)

    assert [item["text"] for item in bench.items("agentMessage")] == ["one two ", "ok"]
    said = [item for item in stage.requests[1].input if item.get("role") == "assistant"]
    assert said[0]["content"][0]["text"] == "one two "
    turns = bench.host.run(lambda kernel: turns_of(kernel, session.thread["id"]))
    assert turns[0]["items"][-1]["text"] == "one two "


async def turns_of(kernel, thread_id):
    return kernel.threads.turns(thread_id)


def test_every_item_of_an_interrupted_turn_is_completed_before_its_end(bench, stage):
    stage.turns.append([*say("a"), call("wait"), DONE])

    async def script(session):
        began = anyio.Event()
        stage.waiting.append(began)
        await bench.start(session)
        await began.wait()
        await bench.perform(session, "turn/interrupt", turnId="")
        await bench.until("turn/completed")

    bench.run(script)

    started = {params["item"]["id"] for params in bench.of("item/started")}
    assert started == {params["item"]["id"] for params in bench.of("item/completed")}
    assert bench.events[-2]["method"] == "turn/completed"
