"""Turns as one client sees them: what is told, in which order."""

from __future__ import annotations

import time

import anyio

from ferrule_testkit.model_items import function_call, message, reasoning

LONG = {"items": [message("one two three four five six seven eight")], "delta_delay": 0.15}


def test_a_turn_is_told_in_order(serve, model_server):
    model_server.play([[reasoning("Thinking"), message("hello from the model")]])

    async def talk(hub):
        client = await hub.client()
        thread_id = await client.thread()
        turn_id = await client.turn(thread_id)
        done = await client.told("turn/completed")
        assert done["turn"]["id"] == turn_id
        assert done["turn"]["status"] == "completed"
        told = [name for name in client.methods(thread_id) if not name.endswith(("elta", "Added"))]
        assert told == [
            "thread/status/changed",
            "turn/started",
            *["item/started", "item/completed"] * 3,
            "thread/tokenUsage/updated",
            "thread/status/changed",
            "turn/completed",
        ]
        text = "".join(
            frame["params"]["delta"]
            for frame in client.frames
            if frame.get("method") == "item/agentMessage/delta"
        )
        assert text == "hello from the model"

    serve(talk)


def test_the_reply_comes_before_what_it_announces(serve, model_server):
    model_server.play([[message("hi")]] * 5)

    async def talk(hub):
        client = await hub.client()
        for _ in range(5):
            thread_id = await client.thread()
            await client.whole_turn(thread_id)
            about = [
                frame.get("method", "reply")
                for frame in client.frames
                if thread_id in str(frame) or "turn" in frame.get("result", {})
            ]
            assert about[:2] == ["reply", "thread/started"]
            assert about.index("turn/started") > about.index("reply", 1)
            client.frames.clear()

    serve(talk)


def test_nothing_of_a_turn_is_told_before_its_reply_was_taken(serve, model_server):
    model_server.play([[message("hi")]])

    async def talk(hub):
        client = await hub.client()
        thread_id = await client.thread()
        await client.told("thread/started")
        client.is_reading = False
        turn_id = await client.turn(thread_id)
        with anyio.fail_after(120):
            while not model_server.requests:
                await anyio.sleep(0.01)
        taken_at = time.time_ns() // 1_000_000
        client.read_on()
        started = await client.until(lambda each: each.get("method") == "turn/started")
        assert started["params"]["turn"]["id"] == turn_id
        assert started["emittedAtMs"] >= taken_at

    serve(talk)


def test_a_turn_that_runs_is_steered(serve, model_server):
    wait = function_call("exec_command", {"cmd": "sleep 0.5"})
    model_server.play([[wait], [message("answer")]])

    async def talk(hub):
        client = await hub.client()
        thread_id = await client.thread(sandbox="danger-full-access")
        turn_id = await client.turn(thread_id)
        await client.told("item/started", lambda p: p["item"]["type"] == "commandExecution")
        more = [{"type": "text", "text": "and this"}]
        steer = {"threadId": thread_id, "input": more}
        other = "00000000-0000-7000-8000-000000000000"
        error = await client.error("turn/steer", {**steer, "expectedTurnId": other})
        assert f"expected active turn id `{other}` but found `{turn_id}`" in error["message"]
        reply = await client.call("turn/steer", {**steer, "expectedTurnId": turn_id})
        assert reply == {"turnId": turn_id}
        assert await client.turn(thread_id, "and that") == turn_id
        await client.told("turn/completed")
        asked = [
            frame["params"]["item"]["content"][0]["text"]
            for frame in client.frames
            if frame.get("method") == "item/completed"
            and frame["params"]["item"]["type"] == "userMessage"
        ]
        assert asked == ["go", "and this", "and that"]
        late = await client.error("turn/steer", {**steer, "expectedTurnId": turn_id})
        assert late["message"] == "no active turn to steer"

    serve(talk)


def test_an_interrupt_right_behind_the_start_works(serve, model_server):
    model_server.play([LONG])

    async def talk(hub):
        client = await hub.client()
        thread_id = await client.thread()
        turn_id = await client.turn(thread_id)
        assert await client.call("turn/interrupt", {"threadId": thread_id, "turnId": turn_id}) == {}
        done = await client.told("turn/completed")
        assert done["turn"]["status"] == "interrupted"
        again = await client.error("turn/interrupt", {"threadId": thread_id, "turnId": turn_id})
        assert again["message"] == "no active turn to interrupt"
        idle = await client.call("turn/interrupt", {"threadId": thread_id, "turnId": ""})
        assert idle == {}
        started = client.methods().count("item/started")
        assert client.methods().count("item/completed") == started

    serve(talk)


def test_settings_of_a_turn_stick_and_are_told(serve, model_server):
    model_server.play([[message("one")], [message("two")]])

    async def talk(hub):
        client = await hub.client()
        thread_id = await client.thread()
        content = [{"type": "text", "text": "x"}]
        params = {"threadId": thread_id, "input": content, "effort": "low", "model": "other-model"}
        await client.call("turn/start", params)
        settings = await client.told("thread/settings/updated")
        assert settings["threadSettings"]["effort"] == "low"
        await client.told("turn/completed")
        await client.whole_turn(thread_id)
        assert [request.body["model"] for request in model_server.requests] == ["other-model"] * 2

    serve(talk)


def test_an_approval_policy_that_clients_do_not_know_is_told_as_the_nearest(serve):
    async def talk(hub):
        client = await hub.client()
        reply = await client.call("thread/start", {"approvalPolicy": "on-failure"})
        assert reply["approvalPolicy"] == "on-request"

    serve(talk)


def test_tools_of_the_client_are_called_through_it(serve, model_server):
    model_server.play([[function_call("lookup", {"key": "a"})], [message("done")]])
    tool = {
        "name": "lookup",
        "description": "Looks up.",
        "inputSchema": {"type": "object", "properties": {"key": {"type": "string"}}},
    }

    async def talk(hub):
        client = await hub.client()
        answer = {"contentItems": [{"type": "inputText", "text": "found it"}], "success": True}
        client.answers["item/tool/call"] = answer
        thread_id = await client.thread(dynamicTools=[tool])
        await client.whole_turn(thread_id)
        asked = await client.told("item/tool/call")
        assert (asked["tool"], asked["arguments"]) == ("lookup", {"key": "a"})
        item = await client.told("item/completed", lambda p: p["item"]["type"] == "dynamicToolCall")
        assert item["item"]["success"] is True
        assert "found it" in str(model_server.requests[1].body["input"])
        assert "serverRequest/resolved" not in client.methods()

    serve(talk)


def test_a_project_is_not_trusted_by_starting_a_thread_in_it(serve, ferrule_home):
    before = (ferrule_home.path / "config.toml").read_text()

    async def talk(hub):
        client = await hub.client()
        await client.thread(cwd=str(ferrule_home.workspace), sandbox="workspace-write")
        assert (ferrule_home.path / "config.toml").read_text() == before

    serve(talk)


def test_a_client_may_bound_what_a_turn_spends(serve, model_server):
    model_server.play([[function_call("exec_command", {"cmd": "true"})], [message("never")]])

    async def talk(hub):
        client = await hub.client()
        thread_id = await client.thread(sandbox="danger-full-access")
        await client.turn(thread_id, budget={"requests": 1})
        done = await client.told("turn/completed")
        assert done["turn"]["error"]["codexErrorInfo"] == "sessionBudgetExceeded"

    serve(talk)
    assert len(model_server.requests) == 1
