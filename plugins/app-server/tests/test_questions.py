"""Questions to clients: who is asked, who may answer, and what becomes of them."""

from __future__ import annotations

import anyio
import pytest

from ferrule_testkit.model_items import function_call, message

ESCALATED = function_call(
    "exec_command",
    {"cmd": "echo hi", "sandbox_permissions": "require_escalated", "justification": "to test"},
)
APPROVAL = "item/commandExecution/requestApproval"


@pytest.fixture
def asking(model_server):
    """A model that asks to run a command outside of the sandbox."""
    model_server.play([[ESCALATED], [message("done")]])


async def waiting_thread(client):
    thread_id = await client.thread(approvalPolicy="on-request")
    await client.turn(thread_id)
    frame = await client.until(lambda each: each.get("method") == APPROVAL)
    return thread_id, frame["id"]


async def status_of_the_command(client):
    done = await client.told("item/completed", lambda p: p["item"]["type"] == "commandExecution")
    return done["item"]["status"]


@pytest.mark.parametrize(("decision", "status"), [("accept", "completed"), ("decline", "declined")])
def test_the_turn_waits_for_the_answer(serve, asking, decision, status):
    async def talk(hub):
        client = await hub.client()
        client.answers[APPROVAL] = {"decision": decision}
        thread_id = await client.thread(approvalPolicy="on-request")
        await client.whole_turn(thread_id)
        assert await status_of_the_command(client) == status
        told = client.methods()
        assert told.index(APPROVAL) < told.index("serverRequest/resolved")
        flags = [
            frame["params"]["status"].get("activeFlags")
            for frame in client.frames
            if frame.get("method") == "thread/status/changed"
        ]
        assert flags == [[], ["waitingOnApproval"], [], None]

    serve(talk)


def test_all_followers_are_asked_and_the_first_answer_counts(serve, asking):
    async def talk(hub):
        one, other = await hub.client(), await hub.client()
        thread_id = await one.thread(approvalPolicy="on-request")
        await other.call("thread/resume", {"threadId": thread_id})
        await one.turn(thread_id)
        asked = await one.until(lambda each: each.get("method") == APPROVAL)
        again = await other.until(lambda each: each.get("method") == APPROVAL)
        assert asked == again
        await other.send({"id": asked["id"], "result": {"decision": "accept"}})
        await one.send({"id": asked["id"], "result": {"decision": "decline"}})
        for client in (one, other):
            resolved = await client.told("serverRequest/resolved")
            assert resolved == {"threadId": thread_id, "requestId": asked["id"]}
            assert await status_of_the_command(client) == "completed"

    serve(talk)


def test_who_was_not_asked_cannot_answer(serve, asking):
    async def talk(hub):
        client, stranger = await hub.client(), await hub.client()
        _, number = await waiting_thread(client)
        await stranger.send({"id": number, "result": {"decision": "accept"}})
        await stranger.call("thread/loaded/list", {})
        assert "serverRequest/resolved" not in client.methods()
        await client.send({"id": number, "result": {"decision": "decline"}})
        assert await status_of_the_command(client) == "declined"

    serve(talk)


def test_who_joins_is_asked_under_the_same_number(serve, asking):
    async def talk(hub):
        client = await hub.client()
        thread_id, number = await waiting_thread(client)
        late = await hub.client()
        await late.call("thread/resume", {"threadId": thread_id})
        asked = await late.until(lambda each: each.get("method") == APPROVAL)
        assert asked["id"] == number
        replied = next(i for i, frame in enumerate(late.frames) if "thread" in str(frame))
        assert late.frames.index(asked) > replied
        await late.send({"id": number, "result": {"decision": "accept"}})
        assert await status_of_the_command(client) == "completed"

    serve(talk)


def test_a_client_that_goes_leaves_the_question_open(serve, asking):
    async def talk(hub):
        client = await hub.client()
        thread_id, number = await waiting_thread(client)
        await hub.disconnect(client)
        late = await hub.client()
        loaded = await late.call("thread/loaded/list", {})
        assert loaded["data"] == [thread_id]
        resumed = await late.call("thread/resume", {"threadId": thread_id})
        assert resumed["thread"]["status"]["activeFlags"] == ["waitingOnApproval"]
        await late.until(lambda each: each.get("method") == APPROVAL)
        await late.send({"id": number, "result": {"decision": "accept"}})
        done = await late.told("turn/completed")
        assert done["turn"]["status"] == "completed"

    serve(talk)


def test_an_interrupt_withdraws_the_question_before_the_turn_ends(serve, asking):
    async def talk(hub):
        client = await hub.client()
        thread_id, number = await waiting_thread(client)
        await client.call("turn/interrupt", {"threadId": thread_id, "turnId": ""})
        await client.told("turn/completed")
        told = client.methods()
        assert told.index("serverRequest/resolved") < told.index("turn/completed")
        await client.send({"id": number, "result": {"decision": "accept"}})
        assert (await client.call("thread/read", {"threadId": thread_id}))["thread"]

    serve(talk)


@pytest.mark.parametrize(
    "answer",
    [{"result": {}}, {"result": {"decision": "maybe"}}, {"result": 5}, {"error": {"code": 1}}],
    ids=["empty", "unknown decision", "no object", "error"],
)
def test_an_answer_that_is_none_accepts_nothing(serve, asking, answer):
    async def talk(hub):
        client = await hub.client()
        _, number = await waiting_thread(client)
        await client.send({"id": number, **answer})
        assert await status_of_the_command(client) in ("failed", "declined")
        await client.told("turn/completed")

    serve(talk)


def test_numbers_are_one_series_for_the_whole_server(serve, model_server):
    model_server.play([[ESCALATED]] * 2 + [[message("done")]] * 2)

    async def talk(hub):
        client = await hub.client()
        first, second = await waiting_thread(client), None
        client.frames.clear()
        second = await waiting_thread(client)
        assert (first[1], second[1]) == (0, 1)
        with anyio.fail_after(120):
            for thread_id, _ in (first, second):
                await client.call("turn/interrupt", {"threadId": thread_id, "turnId": ""})

    serve(talk)
