"""Turns: what goes to the model, what comes back, and how a turn ends."""

import anyio
import pytest
from kernel_plugins.speech import DONE, call, say

from ferrule_hookspecs.errors import PluginError, ProviderError


def test_a_plain_turn_tells_everything_in_order(bench, stage):
    stage.turns.append([*say("Hello."), DONE])

    bench.turn("hi")

    assert [event["method"] for event in bench.events] == [
        "thread/started",
        "thread/status/changed",
        "turn/started",
        "item/started",
        "item/completed",
        "item/started",
        "item/agentMessage/delta",
        "item/completed",
        "thread/tokenUsage/updated",
        "thread/status/changed",
        "turn/completed",
        "thread/closed",
    ]
    (item,) = bench.items("agentMessage")
    assert (item["id"], item["text"]) == ("m1", "Hello.")
    ended = bench.of("turn/completed")[0]["turn"]
    assert (ended["status"], ended["items"]) == ("completed", [item])


def test_a_call_is_answered_in_the_next_request(bench, stage):
    stage.turns.extend([[call("note", '{"text": "a"}'), DONE], [*say("ok"), DONE]])

    bench.turn()

    assert bench.outputs(stage) == {"c1": "noted a"}
    assert len(stage.requests) == 2


def test_consecutive_requests_share_their_prefix(bench, stage):
    stage.turns.extend([[call("note"), DONE], [call("note", id_="c2"), DONE], [*say("ok"), DONE]])

    bench.turn()

    for before, after in zip(stage.requests, stage.requests[1:], strict=False):
        assert after.input[: len(before.input)] == before.input
        assert after.tools == before.tools


def test_parallel_calls_are_answered_in_call_order(bench, stage):
    first = [call("note", f'{{"text": {n}}}', f"c{n}") for n in range(6)]
    stage.turns.extend([[*first, DONE], [*say("ok"), DONE]])

    bench.turn()

    assert list(bench.outputs(stage)) == [f"c{n}" for n in range(6)]


@pytest.mark.parametrize(
    ("bad", "answer"),
    [
        (call("nothing_like_it"), "unsupported call: nothing_like_it"),
        (call("note", "{"), "failed to parse function arguments"),
        (call("note", "[1]"), "failed to parse function arguments: expected a JSON object"),
        (call("raise_error"), "raise_error failed: KeyError: 'a bug in a tool'"),
    ],
    ids=["unknown tool", "bad JSON", "no object", "a bug in a tool"],
)
def test_a_call_that_cannot_run_is_answered_and_shown(bench, stage, bad, answer):
    stage.turns.extend([[bad, DONE], [*say("ok"), DONE]])

    bench.turn()

    assert answer in bench.outputs(stage)["c1"]
    (item,) = bench.items("dynamicToolCall")
    assert item["status"] == "failed"


def test_a_broken_stream_is_tried_again_and_a_finished_call_runs_once(bench, stage):
    broken = ProviderError("stream disconnected", retryable=True, retry_after_s=0)
    stage.turns.extend([[call("note"), broken], [*say("ok"), DONE]])

    bench.turn()

    assert len(stage.ran) == 1
    assert bench.outputs(stage) == {"c1": "noted None"}
    (error,) = bench.of("error")
    assert error["error"] == {
        "message": "Reconnecting... 1/2",
        "codexErrorInfo": {"responseStreamDisconnected": {"httpStatusCode": None}},
        "additionalDetails": "stream disconnected",
    }
    assert error["willRetry"] is True


def test_retries_are_bounded_and_the_turn_fails_with_the_reason(bench, stage):
    broken = ProviderError("stream disconnected", retryable=True, retry_after_s=0)
    stage.turns.extend([[broken], [broken], [broken]])

    bench.turn()

    turn = bench.of("turn/completed")[0]["turn"]
    assert turn["status"] == "failed"
    assert turn["error"]["message"] == "stream disconnected"
    assert [error["willRetry"] for error in bench.of("error")] == [True, True, False]


def test_what_may_not_be_retried_fails_at_once(bench, stage):
    stage.turns.append([ProviderError("no such model", kind="badRequest")])

    bench.turn()

    assert len(stage.requests) == 1
    assert bench.of("turn/completed")[0]["turn"]["error"]["codexErrorInfo"] == "badRequest"


def test_an_interrupted_turn_leaves_a_well_formed_history(bench, stage):
    stage.turns.append([call("note"), DONE])
    stage.turns.append([call("wait", id_="c2"), DONE])
    stage.turns.append([*say("again"), DONE])

    async def script(session):
        began = anyio.Event()
        stage.waiting.append(began)
        await bench.start(session)
        await began.wait()
        params = {"threadId": session.thread["id"], "turnId": ""}
        await session.submit({"id": "2", "method": "turn/interrupt", "params": params})
        await bench.until("turn/completed")
        await bench.start(session, "and now?")
        await bench.until("turn/completed", 2)

    bench.run(script)

    assert [p["turn"]["status"] for p in bench.of("turn/completed")] == ["interrupted", "completed"]
    assert bench.outputs(stage) == {"c1": "noted None", "c2": "aborted by user"}
    started = {params["item"]["id"] for params in bench.of("item/started")}
    completed = {params["item"]["id"] for params in bench.of("item/completed")}
    assert started == completed


def test_input_during_a_turn_is_steered_into_it(bench, stage):
    stage.turns.append([call("wait"), DONE])

    async def script(session):
        began = anyio.Event()
        stage.waiting.append(began)
        await bench.start(session, "first")
        await began.wait()
        await bench.start(session, "second")
        await anyio.wait_all_tasks_blocked()
        params = {"threadId": session.thread["id"], "turnId": ""}
        await session.submit({"id": "2", "method": "turn/interrupt", "params": params})
        await bench.until("turn/completed")

    bench.run(script)

    assert len(bench.of("turn/started")) == 1


def test_usage_is_counted_per_turn_and_per_thread(bench, stage):
    stage.turns.extend([[call("note"), DONE], [*say("ok"), DONE], [*say("more"), DONE]])

    async def script(session):
        await bench.start(session)
        await bench.until("turn/completed")
        await bench.start(session)
        await bench.until("turn/completed", 2)

    bench.run(script)

    last = bench.of("thread/tokenUsage/updated")[-1]["tokenUsage"]
    assert last["turn"]["totalTokens"] == 110
    assert last["total"]["totalTokens"] == 330


def test_closing_a_session_in_mid_turn_interrupts_it_and_ends_the_events(bench, stage):
    stage.turns.append(["hang"])

    async def script(session):
        await bench.start(session)
        await bench.until("turn/started")
        await session.close()

    bench.run(script)

    assert bench.of("turn/completed")[0]["turn"]["status"] == "interrupted"
    assert bench.events[-1]["method"] == "thread/closed"


def test_a_thread_resumes_forks_and_rolls_back(bench, stage):
    stage.turns.extend([[*say(f"answer {n}"), DONE] for n in range(4)])

    async def main(kernel):
        session = await kernel.threads.start(bench.options(kernel))
        async with anyio.create_task_group() as group:
            group.start_soon(bench.read, session)
            await bench.start(session, "first")
            await bench.until("turn/completed")
            await session.close()
            resumed = await kernel.threads.resume(session.thread["id"], bench.options(kernel))
            group.start_soon(bench.read, resumed)
            await bench.start(resumed, "second")
            await bench.until("turn/completed", 2)
            params = {"threadId": session.thread["id"], "numTurns": 1}
            await resumed.submit({"id": "3", "method": "thread/rollback", "params": params})
            await bench.start(resumed, "third")
            await bench.until("turn/completed", 3)
            await resumed.close()
            forked = await kernel.threads.fork(session.thread["id"], bench.options(kernel))
            group.start_soon(bench.read, forked)
            await bench.start(forked, "fourth")
            await bench.until("turn/completed", 4)
            await forked.close()
            return session.thread["id"], forked.thread

    origin, fork = bench.host.run(main)

    def said(request):
        return [
            p["text"]
            for i in request.input
            if i["type"] == "message" and i["role"] != "developer"
            for p in i["content"]
        ][1:]

    assert said(stage.requests[1]) == ["first", "answer 0", "second"]
    assert said(stage.requests[2]) == ["first", "answer 0", "third"]
    assert said(stage.requests[3]) == ["first", "answer 0", "third", "answer 2", "fourth"]
    assert fork["forkedFromId"] == origin
    assert fork["id"] != origin


def test_a_changed_policy_is_told_at_the_end_and_the_prefix_stays(bench, stage):
    stage.turns.extend([[*say("a"), DONE], [*say("b"), DONE]])

    async def script(session):
        await bench.start(session)
        await bench.until("turn/completed")
        await bench.start(session, sandboxPolicy={"type": "readOnly"})
        await bench.until("turn/completed", 2)

    bench.run(script)

    before, after = stage.requests
    assert after.input[: len(before.input)] == before.input
    note = after.input[len(before.input) + 1]
    assert note["role"] == "developer"
    assert "readOnly" in note["content"][0]["text"]


def test_an_ephemeral_thread_stores_nothing(bench, stage):
    stage.turns.append([*say("ok"), DONE])

    session = bench.turn(ephemeral=True)

    assert session.thread["path"] is None
    assert not (bench.host.home / "sessions").exists()


def test_compaction_on_overflow_recovers_in_the_same_turn(bench, stage):
    bench.configure('compactor = "staged"')
    overflow = ProviderError("too long", kind="contextWindowExceeded")
    stage.turns.extend([[call("note"), DONE], [overflow], [*say("ok"), DONE]])

    bench.turn()

    assert bench.of("turn/completed")[0]["turn"]["status"] == "completed"
    assert len(bench.items("contextCompaction")) == 1
    prefix = stage.hooks["material"].prefix
    first, last = stage.requests[0].input, stage.requests[-1].input
    assert last[:prefix] == first[:prefix]
    assert last[-1]["content"][0]["text"] == "compacted: overflow"


def test_an_empty_summary_is_refused_and_the_history_kept(bench, stage):
    bench.configure('compactor = "staged"')
    stage.hooks["summary"] = "  "
    stage.turns.extend([[*say("kept"), DONE], [*say("ok"), DONE]])

    async def script(session):
        await bench.start(session)
        await bench.until("turn/completed")
        params = {"threadId": session.thread["id"]}
        await session.submit({"id": "2", "method": "thread/compact/start", "params": params})
        await bench.until("turn/completed", 2)
        await bench.start(session)
        await bench.until("turn/completed", 3)

    bench.run(script)

    assert bench.of("turn/completed")[1]["turn"]["status"] == "failed"
    assert "kept" in str(stage.requests[-1].input)


@pytest.mark.parametrize("key", ["sandbox_backend", "approvals_reviewer", "compactor"])
def test_a_driver_that_is_not_installed_stops_the_run_before_anything_starts(bench, stage, key):
    path = bench.host.home / "config.toml"
    lines = [line for line in path.read_text().splitlines() if not line.startswith(key)]
    path.write_text(f'{key} = "nope"\n' + "\n".join(lines))

    with pytest.raises(PluginError, match="'nope'"):
        bench.turn()

    assert stage.requests == []
