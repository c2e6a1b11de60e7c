"""Servers that do what ours seldom does: refuse, withdraw, talk nonsense, hang up."""

from __future__ import annotations

import logging
import threading

import anyio
import pytest

from ferrule_sdk import CallbackError, ConnectionLostError, Ferrule, ServerError, SlowReaderError

OVERLOAD = {"code": -32001, "message": "Server overloaded; retry later."}


def test_an_overloaded_server_is_asked_again(scripted, run):
    refusals = iter(
        [
            OVERLOAD,
            {"code": -32600, "message": "x", "data": {"codexErrorInfo": "server_overloaded"}},
        ]
    )
    scripted.answers["model/list"] = lambda _: next(refusals, {"data": [{"id": "m"}]})

    async def main():
        async with Ferrule(channel=scripted.open) as f:
            return await f.models()

    assert run(main) == [{"id": "m"}]


def test_a_refusal_keeps_code_and_data(scripted, run):
    scripted.answers["x/y"] = lambda _: {"code": -32600, "message": "no", "data": {"why": 1}}

    async def main():
        async with Ferrule(channel=scripted.open) as f:
            await f.call("x/y")

    with pytest.raises(ServerError, match="x/y: no") as caught:
        run(main)

    assert (caught.value.code, caught.value.data) == (-32600, {"why": 1})


def test_nonsense_is_passed_over(scripted, run, caplog):
    async def main():
        async with Ferrule(channel=scripted.open) as f:
            for nonsense in (b"not json", [], {"id": 99, "result": {}}, {"method": 5}, {}):
                scripted.say(nonsense)
            scripted.say({"method": "unheard/of", "params": {"threadId": 5}})
            thread = await f.thread()
            scripted.say({"method": "turn/started", "params": {"threadId": "t1"}})
            scripted.answers["turn/start"] = lambda _: {"turn": 5}
            with pytest.raises(ServerError, match="does not fit"):
                await thread.start("Go")
            return thread.id

    assert run(main) == "t1"
    assert "not json" in caplog.text


def test_what_nobody_answers_is_refused(scripted, run):
    async def main():
        async with Ferrule(channel=scripted.open) as f:
            await f.thread()
            scripted.ask(1, "attestation/generate")
            scripted.ask(2, "item/tool/requestUserInput", questions=[])
            scripted.ask(3, "mcpServer/elicitation/request", serverName="s", message="m")
            scripted.ask(4, "item/permissions/requestApproval", permissions={"network": {}})
            scripted.ask(5, "item/tool/call", tool="unknown", arguments={})
            scripted.ask(6, "item/fileChange/requestApproval")
            return [await scripted.answer_to(number) for number in range(1, 7)]

    answers = run(main)

    assert "does not answer attestation/generate" in answers[0]["error"]["message"]
    assert answers[1]["result"] == {"answers": {}}
    assert answers[2]["result"] == {"action": "decline"}
    assert answers[3]["result"]["permissions"] == {}
    assert answers[4]["result"]["success"] is False
    assert answers[5]["result"] == {"decision": "decline"}


def test_callbacks_answer_every_kind_of_question(scripted, run):
    mcp = {"codex_approval_kind": "mcp_tool_call", "tool_name": "t", "tool_params": {"a": 1}}
    asked = []

    def approve(request):
        asked.append(request)
        return "accept_for_session"

    async def main():
        async with Ferrule(
            channel=scripted.open,
            approvals=approve,
            questions=lambda questions: {questions[0]["id"]: "blue"},
            elicitations=lambda params: {"action": "accept", "content": {"m": params["message"]}},
        ) as f:
            await f.thread()
            scripted.ask(1, "item/tool/requestUserInput", questions=[{"id": "q"}])
            scripted.ask(2, "mcpServer/elicitation/request", serverName="s", message="m")
            scripted.ask(3, "item/permissions/requestApproval", permissions={"network": {}})
            scripted.ask(4, "mcpServer/elicitation/request", serverName="s", _meta=mcp)
            scripted.ask(5, "item/commandExecution/requestApproval", command="ls")
            return [(await scripted.answer_to(number))["result"] for number in range(1, 6)]

    answers = run(main)

    assert answers[0] == {"answers": {"q": {"answers": ["blue"]}}}
    assert answers[1] == {"action": "accept", "content": {"m": "m"}}
    assert answers[2] == {"permissions": {"network": {}}, "scope": "session"}
    assert answers[3]["action"] == "accept"
    assert answers[3]["_meta"] == {"persist": "session"}
    assert answers[4] == {"decision": "acceptForSession"}
    assert {request.kind for request in asked} == {"permissions", "mcp_tool", "command"}


@pytest.mark.parametrize(
    "approve", [lambda _: 1 / 0, lambda _: "yes", lambda _: None], ids=["raises", "unknown", "none"]
)
def test_a_broken_callback_ends_the_turn_and_is_told(scripted, run, approve):
    async def main():
        async with Ferrule(channel=scripted.open, approvals=approve) as f:
            turn = await (await f.thread()).start("Go")
            scripted.ask(1, "item/commandExecution/requestApproval", command="ls")
            answer = await scripted.answer_to(1)
            scripted.finish("interrupted")
            with pytest.raises(CallbackError, match="approvals callback"):
                await turn.result()
            return answer

    assert run(main)["result"] == {"decision": "cancel"}


def test_a_question_that_is_withdrawn_is_not_answered(scripted, run):
    is_asked, is_cancelled = anyio.Event(), anyio.Event()

    async def approve(request):
        is_asked.set()
        try:
            await anyio.sleep_forever()
        finally:
            is_cancelled.set()

    async def main():
        async with Ferrule(channel=scripted.open, approvals=approve) as f:
            await f.thread()
            scripted.ask(7, "item/commandExecution/requestApproval", command="ls")
            await is_asked.wait()
            scripted.tell("serverRequest/resolved", requestId=7)
            await is_cancelled.wait()
            await f.call("thread/start")

    run(main)

    assert [message for message in scripted.received if message.get("id") == 7] == []


def test_a_callback_that_is_no_coroutine_does_not_hold_up_the_rest(scripted, run):
    go = threading.Event()

    def approve(request):
        go.wait()
        return "accept"

    async def main():
        async with Ferrule(channel=scripted.open, approvals=approve) as f:
            await f.thread()
            scripted.ask(1, "item/commandExecution/requestApproval", command="ls")
            await f.call("thread/start")
            go.set()
            return await scripted.answer_to(1)

    assert run(main)["result"] == {"decision": "accept"}


def test_who_reads_slowly_gets_merged_deltas_and_everything_else(scripted, run):
    async def main():
        async with Ferrule(channel=scripted.open) as f:
            turn = await (await f.thread()).start("Go")
            for number in range(5000):
                scripted.tell("item/agentMessage/delta", itemId="m", delta=f"{number} ")
            for number in range(300):
                scripted.tell("item/completed", item={"id": f"i{number}", "type": "plan"})
            scripted.finish()
            await turn.result()
            return [event async for event in turn]

    events = run(main)
    deltas = [e["params"]["delta"] for e in events if e["method"] == "item/agentMessage/delta"]

    assert len(deltas) < 300
    assert "".join(deltas) == "".join(f"{number} " for number in range(5000))
    assert sum(event["method"] == "item/completed" for event in events) == 300


def test_what_cannot_be_merged_is_bounded(scripted, run):
    async def main():
        async with Ferrule(channel=scripted.open) as f:
            turn = await (await f.thread()).start("Go")
            for number in range(20_001):
                scripted.tell("item/completed", item={"id": f"i{number}", "type": "plan"})
            scripted.finish()
            result = await turn.result()
            with pytest.raises(SlowReaderError):
                async for _ in turn:
                    pass
            return result

    assert len(run(main).items) == 20_001


def test_a_server_that_hangs_up_ends_everything_that_waits(scripted, run):
    scripted.answers["model/list"] = lambda _: None

    async def main():
        async with Ferrule(channel=scripted.open) as f:
            turn = await (await f.thread()).start("Go")
            async with anyio.create_task_group() as group:

                async def ask():
                    with pytest.raises(ConnectionLostError, match="hung up"):
                        await f.models()

                async def read():
                    with pytest.raises(ConnectionLostError, match="hung up"):
                        async for _ in turn:
                            pass

                group.start_soon(ask)
                group.start_soon(read)
                await anyio.wait_all_tasks_blocked()
                scripted.hang_up()

    run(main)


def test_a_start_that_is_cancelled_after_it_was_sent_is_interrupted(scripted, run):
    async def main():
        async with Ferrule(channel=scripted.open) as f:
            thread = await f.thread()
            is_sent = anyio.Event()

            def late(params):
                is_sent.set()

            scripted.answers["turn/start"] = late

            def interrupted(params):
                scripted.finish("interrupted")
                return {}

            scripted.answers["turn/interrupt"] = interrupted
            with anyio.CancelScope() as scope:
                async with anyio.create_task_group() as group:
                    group.start_soon(thread.start, "Go")
                    await is_sent.wait()
                    scope.cancel()
                    started = next(m for m in scripted.received if m["method"] == "turn/start")
                    reply = {"turn": {"id": "u1", "status": "inProgress", "items": []}}
                    scripted.say({"id": started["id"], "result": reply})
                    scripted.tell("turn/started", turn=reply["turn"])

    run(main)

    assert scripted.received[-1]["method"] == "turn/interrupt"


def test_what_is_called_before_it_is_open(run):
    async def main():
        await Ferrule().models()

    with pytest.raises(ConnectionLostError, match="not open"):
        run(main)


def test_without_a_callback_the_log_says_what_to_do(scripted, run, caplog):
    async def main():
        async with Ferrule(channel=scripted.open) as f:
            await f.thread()
            scripted.ask(1, "item/commandExecution/requestApproval", command="ls")
            return await scripted.answer_to(1)

    with caplog.at_level(logging.WARNING):
        assert run(main)["result"] == {"decision": "decline"}
    assert "no approvals callback was given" in caplog.text


def test_opening_can_be_cancelled(scripted, run):
    is_asked = anyio.Event()
    scripted.answers["initialize"] = lambda _: is_asked.set()

    async def open_it():
        async with Ferrule(channel=scripted.open):
            pytest.fail("it was never answered")

    async def main():
        async with anyio.create_task_group() as group:
            group.start_soon(open_it)
            await is_asked.wait()
            group.cancel_scope.cancel()

    run(main)


def test_leaving_the_program_is_no_error_of_the_library(scripted, run):
    async def main():
        async with Ferrule(channel=scripted.open):
            raise SystemExit(3)

    with pytest.raises(SystemExit):
        run(main)
