"""What goes over the wire beside results: events, progress, cancellation, and who reads slowly."""

import base64
import json

import anyio

from ferrule_hookspecs.serving import Peer
from ferrule_mcp_server.codex_items import ended
from ferrule_mcp_server.connection import MOST
from ferrule_testkit.model_items import freeform_call, function_call, message

HANG = {"items": [message("partial")], "hang": True}
RECORDED = {  # of Codex 0.153.4, without what it says of the bytes that go to the model
    "session_configured": {"session_id", "thread_id", "model", "approval_policy", "cwd"},
    "task_started": {"turn_id", "started_at", "collaboration_mode_kind"},
    "user_message": {"message", "images", "local_images", "text_elements"},
    "exec_command_begin": {"call_id", "turn_id", "command", "cwd", "parsed_cmd", "source"},
    "exec_command_output_delta": {"call_id", "stream", "chunk"},
    "exec_command_end": {"call_id", "turn_id", "stdout", "exit_code", "duration", "status"},
    "patch_apply_begin": {"call_id", "turn_id", "auto_approved", "changes"},
    "patch_apply_end": {"call_id", "turn_id", "success", "changes", "status"},
    "item_started": {"thread_id", "turn_id", "item", "started_at_ms"},
    "item_completed": {"thread_id", "turn_id", "item", "started_at_ms", "completed_at_ms"},
    "agent_message_content_delta": {"thread_id", "turn_id", "item_id", "delta"},
    "agent_message": {"message", "phase"},
    "token_count": {"info", "rate_limits"},
    "turn_diff": {"unified_diff"},
    "task_complete": {"turn_id", "last_agent_message", "started_at", "duration_ms"},
}


def echo(word):
    return [function_call("exec_command", {"cmd": f"echo {word}"})]


def test_a_compaction_that_failed_is_not_told_as_one():
    item = {"type": "contextCompaction", "id": "c"}
    assert ended(item)[1] == [{"type": "context_compacted"}]
    assert ended({**item, "status": "failed"})[1] == []


def test_events_are_told_as_clients_of_codex_know_them(stage, wired):
    patch = "*** Begin Patch\n*** Add File: new.txt\n+x\n*** End Patch\n"
    stage.play(
        [function_call("exec_command", {"cmd": "echo hi"}, call_id="c1")],
        [freeform_call("apply_patch", patch, call_id="c2")],
        "done",
    )

    async def conversation(server):
        async with wired(server) as wire:
            await wire.initialize()
            call = await wire.call("codex", {"prompt": "go"})
            result = await wire.result(call)

            thread_id = result["structuredContent"]["threadId"]
            told = [
                frame["params"] for frame in wire.frames if frame.get("method") == "codex/event"
            ]
            assert {json.dumps(each["_meta"], sort_keys=True) for each in told} == {
                json.dumps({"requestId": call, "threadId": thread_id}, sort_keys=True)
            }
            events = {each["msg"]["type"]: each["msg"] for each in told}
            for name, keys in RECORDED.items():
                assert keys <= set(events[name]), name
            turn_id = events["task_started"]["turn_id"]
            assert [each["id"] for each in told] == ["", *[turn_id] * (len(told) - 1)]
            assert events["exec_command_begin"]["command"][-1] == "echo hi"
            chunk = events["exec_command_output_delta"]["chunk"]
            assert base64.b64decode(chunk) == b"hi\n"
            assert events["exec_command_end"]["exit_code"] == 0
            assert events["exec_command_end"]["aggregated_output"] == "hi\n"
            new = str(stage.home.workspace / "new.txt")
            assert events["patch_apply_end"]["changes"] == {new: {"type": "add", "content": "x\n"}}
            assert events["task_complete"]["last_agent_message"] == "done"
            assert events["token_count"]["info"]["last_token_usage"]["total_tokens"] == 110
            # The result comes behind all that was told.
            assert wire.frames[-1]["id"] == call

    stage.run(conversation)


def test_progress_is_told_to_whoever_wants_it(stage, wired):
    stage.play([function_call("exec_command", {"cmd": "echo hi"}, call_id="c1")], "done", "done")

    async def conversation(server):
        async with wired(server) as wire:
            await wire.initialize()
            await wire.result(await wire.call("codex", {"prompt": "go"}, progressToken="mine"))
            await wire.result(await wire.call("codex", {"prompt": "go"}))

            told = [each for each in wire.frames if each.get("method") == "notifications/progress"]
            counts = [each["params"]["progress"] for each in told]
            assert counts == [1, 2]
            assert {each["params"]["progressToken"] for each in told} == {"mine"}
            assert "echo hi" in told[0]["params"]["message"]

    stage.run(conversation)


def test_a_call_that_is_cancelled_stops_its_turn_and_is_not_answered(stage, wired):
    stage.play(HANG, "after")

    async def conversation(server):
        async with wired(server) as wire:
            await wire.initialize()
            call = await wire.call("codex", {"prompt": "hang"})
            thread_id = (await wire.event("agent_message"))["_meta"]["threadId"]
            params = {"requestId": call, "reason": "no longer wanted"}
            await wire.send({"method": "notifications/cancelled", "params": params})

            ended = await wire.event("turn_aborted")
            assert ended["msg"]["reason"] == "interrupted"
            pong = await wire.ask("ping")
            assert await wire.result(pong) == {}
            arguments = {"prompt": "again", "threadId": thread_id}
            # Its end is told before the thread is free again.
            while True:
                again = await wire.result(await wire.call("codex-reply", arguments))
                if "is at work" not in again["content"][0]["text"]:
                    break
            assert again["structuredContent"] == {"threadId": thread_id, "content": "after"}
            assert not [frame for frame in wire.frames if frame.get("id") == call]

    stage.run(conversation)


def test_a_question_is_withdrawn_when_its_turn_is_stopped(stage, wired, escalated):
    stage.play(escalated, "never said")

    async def conversation(server):
        async with wired(server) as wire:
            await wire.initialize(capabilities={"elicitation": {"form": {}}})
            call = await wire.call("codex", {"prompt": "go", "approval-policy": "on-request"})
            asked = await wire.until(lambda each: each.get("method") == "elicitation/create")
            thread_id = asked["params"]["threadId"]
            await wire.result(await wire.call("codex-interrupt", {"threadId": thread_id}))

            assert (await wire.result(call))["isError"]
            withdrawn = await wire.until(lambda e: e.get("method") == "notifications/cancelled")
            assert withdrawn["params"]["requestId"] == asked["id"]

    stage.run(conversation)


def test_several_calls_run_at_once_and_each_hears_its_own(stage, wired):
    stage.model.play(
        {
            "turns": [],
            "routes": [
                {"contains": word, "turns": [echo(word), [message(word)]]}
                for word in ("amber", "birch", "cedar")
            ],
        }
    )

    async def conversation(server):
        async with wired(server) as wire:
            await wire.initialize()
            words = ("amber", "birch", "cedar")
            calls = [await wire.call("codex", {"prompt": word}) for word in words]
            results = [await wire.result(call) for call in calls]

            assert [each["structuredContent"]["content"] for each in results] == list(words)
            for call, word in zip(calls, words, strict=True):
                told = wire.events(call)
                (said,) = [each["message"] for each in told if each["type"] == "agent_message"]
                assert said == word
                assert told[-1]["type"] == "task_complete"

    stage.run(conversation)


def test_a_client_that_does_not_read_makes_nothing_grow(stage):
    """Events wait in bounded queues, and the turn is waited with, until the client reads on."""
    stage.play([message(f"number {number}", id_=f"m{number}") for number in range(500)])

    async def conversation(server):
        connection = server.connect(Peer("test"))
        messages = connection.messages()

        async def send(frame):
            await connection.receive(json.dumps({"jsonrpc": "2.0", **frame}).encode())

        async def frame():
            with anyio.fail_after(120):
                return json.loads(await anext(messages))

        info = {"name": "tester", "version": "1"}
        params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info}
        await send({"id": 1, "method": "initialize", "params": params})
        assert (await frame())["id"] == 1
        await send({"method": "notifications/initialized"})
        call = {"name": "codex", "arguments": {"prompt": "go"}}
        await send({"id": 2, "method": "tools/call", "params": call})
        # The client stops reading here, for as long as the server finds anything to do.
        with anyio.fail_after(120):
            while connection.waiting < MOST:
                await anyio.sleep(0.01)
        for _ in range(200):
            await anyio.sleep(0)
            assert connection.waiting <= MOST
        said = []
        while "result" not in (last := await frame()):
            if last["params"]["msg"]["type"] == "agent_message":
                said.append(last["params"]["msg"]["message"])
        assert said == [f"number {number}" for number in range(500)]
        assert last["result"]["structuredContent"]["content"] == said[-1]
        await connection.aclose()

    stage.run(conversation)


def test_a_client_that_asks_much_and_reads_nothing_is_not_read_on(stage):
    async def conversation(server):
        connection = server.connect(Peer("test"))
        sent = 0

        async def flood():
            nonlocal sent
            for number in range(10_000):
                request = {"jsonrpc": "2.0", "id": number, "method": "ping"}
                await connection.receive(json.dumps(request).encode())
                sent += 1

        async with anyio.create_task_group() as group:
            group.start_soon(flood)
            before = -1
            while sent != before:  # until nothing is taken any more
                before = sent
                for _ in range(1000):
                    await anyio.sleep(0)
            assert sent <= 5 * MOST
            await connection.aclose()
            group.cancel_scope.cancel()

    stage.run(conversation)


def test_what_is_no_message_is_answered_and_the_rest_goes_on(stage, wired):
    async def conversation(server):
        for text in (b"{", b"[]", b'{"jsonrpc": "2.0", "id": {}}', b"\xff", b"5"):
            async with wired(server) as wire:
                await wire.connection.receive(text)
                error = await wire.until(lambda each: "error" in each)
                assert error["error"]["code"] == -32700, text
                assert error["id"] is None
                assert (await wire.initialize())["serverInfo"]["name"] == "ferrule-mcp-server"

    stage.run(conversation)


def test_a_client_that_goes_leaves_no_turn_behind(stage, wired):
    stage.play(HANG, "after")

    async def conversation(server):
        async with wired(server) as wire:
            await wire.initialize()
            await wire.call("codex", {"prompt": "hang"})
            thread_id = (await wire.event("agent_message"))["_meta"]["threadId"]
        async with wired(server) as other:
            await other.initialize()
            listed = await other.result(await other.call("codex-list", {}))
            (thread,) = listed["structuredContent"]["threads"]
            assert (thread["threadId"], thread["status"]) == (thread_id, "idle")

    stage.run(conversation)
