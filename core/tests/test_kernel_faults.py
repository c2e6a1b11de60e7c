"""What fails around a turn: a full disk, a plugin that raises anything, a stream that breaks."""

import asyncio

import anyio
import pytest
from kernel_plugins.speech import DONE, call, say

from ferrule.rollout import RolloutWriter
from ferrule_hookspecs.errors import ProviderError, StoreError
from ferrule_hookspecs.provider import ItemAdded, TextDelta


@pytest.fixture
def disk(monkeypatch):
    """A disk that can be full."""

    class Disk:
        is_full = False
        holds = staticmethod(lambda type_, payload: False)

    def append(self, type_, payload):
        if Disk.is_full and not Disk.holds(type_, payload):
            raise StoreError("cannot write rollout: No space left on device")
        return written(self, type_, payload)

    written = RolloutWriter.append
    monkeypatch.setattr(RolloutWriter, "append", append)
    return Disk


def statuses(bench):
    return [params["turn"]["status"] for params in bench.of("turn/completed")]


def unanswered(request):
    calls = [i["call_id"] for i in request.input if i["type"].endswith("_call")]
    outputs = [i["call_id"] for i in request.input if i["type"].endswith("_output")]
    return sorted(calls) != sorted(outputs)


def open_items(bench):
    started = [params["item"]["id"] for params in bench.of("item/started")]
    completed = [params["item"]["id"] for params in bench.of("item/completed")]
    return sorted(started) != sorted(completed)


def test_a_full_disk_fails_the_turn_and_not_the_kernel(bench, stage, disk):
    stage.turns.append([*say("ok"), DONE])

    async def script(session):
        disk.is_full = True
        await bench.start(session)
        await bench.until("turn/completed")

    bench.run(script)

    assert statuses(bench) == ["failed"]
    assert "No space left" in bench.of("turn/completed")[0]["turn"]["error"]["message"]
    assert bench.events[-1]["method"] == "thread/closed"


def test_after_a_disk_was_full_during_a_call_the_history_is_well_formed(bench, stage, disk):
    def fill(call, turn, context):
        disk.is_full = True

    stage.hooks["ferrule_tool_before"] = fill
    stage.turns.extend([[call("note"), DONE], [*say("ok"), DONE]])

    async def script(session):
        await bench.start(session)
        await bench.until("turn/completed")
        disk.is_full = False
        await bench.start(session, "again")
        await bench.until("turn/completed", 2)

    bench.run(script)

    assert statuses(bench) == ["failed", "completed"]
    assert not unanswered(stage.requests[-1])


def test_a_refused_operation_on_a_full_disk_is_told_all_the_same(bench, stage, disk):
    async def script(session):
        disk.is_full = True
        params = {"threadId": session.thread["id"], "numTurns": 0}
        await session.submit({"id": "1", "method": "thread/rollback", "params": params})
        await bench.until("warning")

    bench.run(script)

    assert "cannot roll back 0 turns" in bench.of("warning")[0]["message"]


@pytest.mark.parametrize(
    "fault",
    [
        SystemExit(3),
        asyncio.CancelledError(),
        BaseExceptionGroup("several", [SystemExit(1), ValueError("x")]),
        RecursionError(),
    ],
    ids=["exit", "cancelled", "group", "recursion"],
)
@pytest.mark.parametrize("place", ["run", "item", "requirement", "normalize"])
def test_whatever_a_tool_raises_is_one_failed_call(bench, stage, fault, place):
    stage.faults[place] = fault
    stage.turns.extend([[call("faulty"), call("note", id_="c2"), DONE], [*say("ok"), DONE]])

    bench.turn()

    assert statuses(bench) == ["completed"]
    assert "faulty failed" in bench.outputs(stage)["c1"]
    assert bench.outputs(stage)["c2"] == "noted None"
    assert not open_items(bench)


@pytest.mark.parametrize("fault", [SystemExit(3), asyncio.CancelledError(), RuntimeError("bug")])
def test_whatever_a_provider_raises_is_one_failed_turn(bench, stage, fault):
    stage.turns.extend([[call("note"), fault], [*say("ok"), DONE]])

    async def script(session):
        await bench.start(session)
        await bench.until("turn/completed")
        await bench.start(session, "again")
        await bench.until("turn/completed", 2)

    bench.run(script)

    assert statuses(bench) == ["failed", "completed"]
    assert not unanswered(stage.requests[-1])


@pytest.mark.parametrize("fault", [SystemExit(3), asyncio.CancelledError(), None])
def test_whatever_a_reviewer_raises_or_answers_refuses(bench, stage, fault):
    path = bench.host.home / "config.toml"
    path.write_text(path.read_text().replace('"never"', '"on-request"'))
    stage.reviews.append(fault or "nonsense")
    stage.turns.extend([[call("touch", '{"path": "/x", "escalate": true}'), DONE]])
    stage.turns.append([*say("ok"), DONE])

    bench.turn()

    assert stage.ran == []
    assert statuses(bench) == ["completed"]
    assert ("review", "decline") in [
        (p["phase"], p["outcome"]["decision"]) for p in bench.of("item/decision")
    ]


@pytest.mark.parametrize(
    "arguments",
    ['{"n": ' + "1" * 5000 + "}", '{"n": ' + "[" * 100_000, '{"n": ' + "[" * 700 + "]" * 700 + "}"],
    ids=["huge number", "endless nesting", "deep nesting"],
)
def test_arguments_that_no_parser_bears_are_one_failed_call(bench, stage, arguments):
    stage.turns.extend([[call("note", arguments), DONE], [*say("ok"), DONE]])

    bench.turn()

    assert statuses(bench) == ["completed"]
    assert "failed to parse function arguments" in bench.outputs(stage)["c1"]


def test_two_calls_of_one_id_are_two_items_and_two_answers(bench, stage):
    stage.turns.extend([[call("note"), call("note"), DONE], [*say("ok"), DONE]])

    bench.turn()

    assert len(stage.ran) == 2
    outputs = [i for i in stage.requests[-1].input if i["type"] == "function_call_output"]
    assert [item["call_id"] for item in outputs] == ["c1", "c1"]
    assert len({item["id"] for item in bench.items("dynamicToolCall")}) == 2
    assert not open_items(bench)


def test_what_was_done_before_an_interrupt_is_not_called_aborted(bench, stage):
    stage.turns.append([call("wait"), call("note", '{"text": "done"}', "c2"), DONE])
    stage.turns.append([*say("ok"), DONE])

    async def script(session):
        began = anyio.Event()
        stage.waiting.append(began)
        await bench.start(session)
        await began.wait()
        while "ferrule_tool_after" not in [name for name, _ in stage.hook_calls]:
            await anyio.sleep(0.001)
        params = {"threadId": session.thread["id"], "turnId": ""}
        await session.submit({"id": "2", "method": "turn/interrupt", "params": params})
        await bench.until("turn/completed")
        await bench.start(session, "again")
        await bench.until("turn/completed", 2)

    bench.run(script)

    assert bench.outputs(stage) == {"c1": "aborted by user", "c2": "noted done"}


def test_cancel_ends_the_turn_while_the_stream_and_other_calls_go_on(bench, stage):
    path = bench.host.home / "config.toml"
    path.write_text(path.read_text().replace('"never"', '"on-request"'))
    stage.turns.append([call("wait", id_="c0"), "hang"])
    stage.turns[0][1:1] = [call("refused", id_="c1")]
    stage.reviews.append("cancel")

    bench.turn()

    assert statuses(bench) == ["interrupted"]


def test_half_a_message_of_a_broken_stream_is_withdrawn_before_the_next_try(bench, stage):
    broken = ProviderError("stream disconnected", retryable=True, retry_after_s=0)
    half = {"type": "message", "id": "m0", "role": "assistant", "content": []}
    stage.turns.extend([[ItemAdded(half), TextDelta("Hel"), broken], [*say("Hello."), DONE]])

    bench.turn()

    assert [(m["id"], m["text"]) for m in bench.items("agentMessage")] == [
        ("m0", ""),
        ("m1", "Hello."),
    ]


def test_a_stream_without_its_end_is_a_broken_stream(bench, stage):
    stage.turns.extend([[*say("half")], [*say("ok"), DONE]])

    bench.turn()

    assert len(stage.requests) == 2
    assert bench.of("error")[0]["willRetry"] is True


def test_the_stream_of_an_interrupted_turn_is_closed_before_the_turn_ends(bench, stage):
    stage.turns.append([*[delta for n in range(600) for delta in say("x", f"m{n}")], "hang"])

    async def main(kernel):
        session = await kernel.threads.start(bench.options(kernel))
        await bench.start(session)
        await anyio.wait_all_tasks_blocked()
        await session.close()
        return [event["method"] async for event in session.events()]

    methods = bench.host.run(main)

    assert stage.closed == ["stream", "provider"]
    assert methods[-2:] == ["turn/completed", "thread/closed"]


@pytest.mark.parametrize("fault", [RuntimeError("bug"), SystemExit(3), "hang"], ids=str)
def test_a_session_closes_whatever_its_plugins_do_on_closing(bench, stage, fault):
    stage.faults["aclose"] = fault
    stage.turns.append([*say("ok"), DONE])

    bench.turn()

    assert bench.events[-1]["method"] == "thread/closed"


def test_a_fault_of_a_plugin_reaches_open_sessions_only(bench, stage):
    stage.turns.append([*say("ok"), DONE])

    async def main(kernel):
        first = await kernel.threads.start(bench.options(kernel))
        await first.close()
        stage.hooks["ferrule_turn_start"] = RuntimeError("broken")
        second = await kernel.threads.start(bench.options(kernel))
        async with anyio.create_task_group() as group:
            group.start_soon(bench.read, second)
            await bench.start(second)
            await bench.until("turn/completed")
            await second.close()

    bench.host.run(main)

    assert statuses(bench) == ["completed"]
    assert "broken" in bench.of("warning")[0]["message"]


def test_an_item_left_open_by_its_tool_is_closed_with_the_session(bench, stage):
    stage.turns.extend([[call("background"), DONE], [*say("ok"), DONE]])

    bench.turn()

    assert not open_items(bench)
    last = [event["method"] for event in bench.events].index("turn/completed")
    assert "item/completed" in [event["method"] for event in bench.events[last:]]


def test_closing_twice_and_operations_after_it(bench, stage):
    from ferrule_hookspecs.errors import FerruleError

    async def script(session):
        await session.close()
        await session.close()
        with pytest.raises(FerruleError, match="is closed"):
            await bench.start(session)

    bench.run(script)


@pytest.mark.parametrize("fault", [ProviderError("no"), SystemExit(1), KeyError("bug")], ids=repr)
def test_a_compaction_that_fails_by_itself_leaves_the_turn_alone(bench, stage, fault):
    bench.configure('compactor = "staged"\nmodel_auto_compact_token_limit = 50')
    stage.hooks["summary"] = fault
    stage.turns.extend([[call("note"), DONE], [*say("ok"), DONE]])

    bench.turn()

    assert statuses(bench) == ["completed"]
    assert bench.of("warning")
    assert bench.outputs(stage) == {"c1": "noted None"}


def test_a_compacted_history_is_well_formed_whatever_the_compactor_gives(bench, stage):
    bench.configure('compactor = "staged"\nmodel_auto_compact_token_limit = 50')
    stage.hooks["summary"] = "unpaired"
    stage.turns.extend([[call("note"), DONE], [*say("ok"), DONE]])

    bench.turn()

    assert bench.outputs(stage) == {"old": "aborted"}
