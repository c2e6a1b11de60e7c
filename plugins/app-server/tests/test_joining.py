"""Several clients on one thread: late ones, leaving ones, slow ones."""

from __future__ import annotations

import anyio
import pytest

from ferrule_testkit.model_items import function_call, message

WORDS = " ".join(f"word{number}" for number in range(40))


def streamed(client, thread_id, item_id):
    return "".join(
        frame["params"]["delta"]
        for frame in client.frames
        if frame.get("method") == "item/agentMessage/delta"
        and frame["params"]["threadId"] == thread_id
        and frame["params"]["itemId"] == item_id
    )


@pytest.mark.parametrize("ephemeral", [False, True], ids=["stored", "ephemeral"])
def test_who_joins_in_mid_turn_gets_what_was_and_then_what_follows(serve, model_server, ephemeral):
    model_server.play([[message("first answer")], {"items": [message(WORDS)], "delta_delay": 0.02}])

    async def talk(hub):
        client = await hub.client()
        thread_id = await client.thread(ephemeral=ephemeral)
        await client.whole_turn(thread_id, "first")
        mark = len(client.frames)
        turn_id = await client.turn(thread_id, "second")
        await client.told("item/agentMessage/delta", after=mark)
        late = [await hub.client() for _ in range(4)]
        snapshots = []
        for each in late:
            await client.told("item/agentMessage/delta", after=len(client.frames))
            resumed = await each.call("thread/resume", {"threadId": thread_id})
            snapshots.append(resumed["thread"]["turns"])
        for each, turns in zip(late, snapshots, strict=True):
            assert [turn["status"] for turn in turns] == ["completed", "inProgress"]
            assert turns[0]["items"][-1]["text"] == "first answer"
            assert turns[1]["id"] == turn_id
            answer = turns[1]["items"][-1]
            assert answer["type"] == "agentMessage"
            await each.told("turn/completed", lambda p: p["turn"]["id"] == turn_id)
            assert answer["text"] + streamed(each, thread_id, answer["id"]) == WORDS
            assert each.methods(thread_id).count("turn/started") == 0

    serve(talk)


def test_a_thread_that_goes_on_alone_loses_nothing(serve, model_server):
    model_server.play([{"items": [message(WORDS)], "delta_delay": 0.01}])

    async def talk(hub):
        client = await hub.client()
        thread_id = await client.thread()
        await client.turn(thread_id)
        await client.told("item/agentMessage/delta")
        await hub.disconnect(client)
        late = await hub.client()
        thread = (await late.call("thread/resume", {"threadId": thread_id}))["thread"]
        if thread["status"]["type"] == "active":
            await late.told("turn/completed")
        thread = await late.call("thread/read", {"threadId": thread_id, "includeTurns": True})
        assert thread["thread"]["turns"][0]["items"][-1]["text"] == WORDS
        assert thread["thread"]["turns"][0]["status"] == "completed"

    serve(talk)


def test_who_unsubscribes_hears_of_the_status_only(serve, model_server):
    model_server.play([[message("hi")]])

    async def talk(hub):
        client, other = await hub.client(), await hub.client()
        thread_id = await client.thread()
        params = {"threadId": thread_id}
        await other.call("thread/resume", params)
        assert await other.call("thread/unsubscribe", params) == {"status": "unsubscribed"}
        assert await other.call("thread/unsubscribe", params) == {"status": "notSubscribed"}
        mark = len(other.frames)
        await client.whole_turn(thread_id)
        await other.told("thread/status/changed", lambda p: p["status"]["type"] == "idle", mark)
        assert {frame["method"] for frame in other.frames[mark:]} == {"thread/status/changed"}

    serve(talk)


def test_a_thread_that_nobody_follows_is_put_away_after_a_while(serve, model_server, ferrule_home):
    ferrule_home.configure(tables="[servers.app-server]\nunload_after_s = 0.2")
    model_server.play([[message("hi")]])

    async def talk(hub):
        client = await hub.client()
        thread_id = await client.thread()
        await client.whole_turn(thread_id)
        await client.call("thread/unsubscribe", {"threadId": thread_id})
        assert await client.told("thread/closed") == {"threadId": thread_id}
        assert (await client.call("thread/loaded/list", {}))["data"] == []
        resumed = await client.call("thread/resume", {"threadId": thread_id})
        assert resumed["thread"]["turns"][0]["items"][-1]["text"] == "hi"

    serve(talk)


def test_a_slow_reader_gets_fewer_deltas_and_all_else(serve, model_server):
    call = function_call("update_plan", {"plan": [{"step": "a", "status": "pending"}]})
    words = message(" ".join(f"word{number}" for number in range(300)))
    model_server.play([[call], {"items": [words], "delta_delay": 0.002}])

    async def talk(hub):
        slow, quick = await hub.client(), await hub.client()
        thread_id = await slow.thread()
        await quick.call("thread/resume", {"threadId": thread_id})
        slow.is_reading = False
        await quick.turn(thread_id)
        await quick.told("turn/completed")
        slow.read_on()
        await slow.told("turn/completed")
        deltas = slow.methods().count("item/agentMessage/delta")
        assert deltas < quick.methods().count("item/agentMessage/delta") / 2
        for name in ("item/started", "item/completed", "turn/started", "thread/status/changed"):
            assert slow.methods(thread_id).count(name) == quick.methods(thread_id).count(name)
        done = await slow.told("item/completed", lambda p: p["item"]["type"] == "agentMessage")
        assert done["item"]["text"] == streamed(slow, thread_id, done["item"]["id"])

    serve(talk)


def test_a_flood_of_one_client_does_not_delay_another(serve):
    async def talk(hub):
        flooding, other = await hub.client(), await hub.client()
        count = 5_000
        longest = 0.0

        async def flood():
            for _ in range(count):
                await flooding.ask("thread/loaded/list", {})

        async with anyio.create_task_group() as group:
            group.start_soon(flood)
            for _ in range(50):
                before = anyio.current_time()
                await other.call("thread/loaded/list", {})
                longest = max(longest, anyio.current_time() - before)
        answered = await flooding.reply(count + 1)
        assert answered["data"] == []
        replies = [frame for frame in flooding.frames if "method" not in frame]
        assert len({frame["id"] for frame in replies}) == count + 1
        assert not [frame for frame in replies if "error" in frame]
        assert longest < flood_s(flooding)

    def flood_s(client):
        # All of the flood takes seconds; waiting for it would take as long.
        return 1.0

    serve(talk)


def test_what_takes_long_does_not_keep_a_client_from_asking_more(serve):
    async def talk(hub):
        client = await hub.client()
        slow = {"command": ["sleep", "600"], "processId": "x", "disableTimeout": True}
        for number in range(100):
            await client.ask("command/exec", {**slow, "processId": str(number)})
        with anyio.fail_after(120):
            await client.call("thread/loaded/list", {})

    serve(talk)


def test_what_is_to_end_with_a_client_that_is_gone_ends_at_once(serve):
    async def talk(hub):
        client = await hub.client()
        ended = anyio.Event()

        async def end():
            ended.set()

        await hub.disconnect(client)
        client.connection.on_close(end)
        with anyio.fail_after(120):
            await ended.wait()

    serve(talk)
