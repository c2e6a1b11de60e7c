"""Clients that go at a bad moment, come back, or do not read."""

from __future__ import annotations

import json

import anyio
import pytest

from ferrule_app_server import envelope
from ferrule_testkit.model_items import function_call, message
from ferrule_testkit.processes import survivors

ESCALATED = function_call(
    "exec_command",
    {"cmd": "echo hi", "sandbox_permissions": "require_escalated", "justification": "to test"},
)
APPROVAL = "item/commandExecution/requestApproval"


def test_who_left_a_thread_may_not_answer_and_is_asked_again_when_back(serve, model_server):
    model_server.play([[ESCALATED], [message("done")]])

    async def talk(hub):
        client = await hub.client()
        thread_id = await client.thread(approvalPolicy="on-request")
        await client.turn(thread_id)
        asked = await client.until(lambda frame: frame.get("method") == APPROVAL)
        await client.call("thread/unsubscribe", {"threadId": thread_id})
        await client.send({"id": asked["id"], "result": {"decision": "accept"}})
        after = len(client.frames)
        resumed = await client.call("thread/resume", {"threadId": thread_id})
        assert resumed["thread"]["status"]["activeFlags"] == ["waitingOnApproval"]
        again = await client.until(lambda frame: frame.get("method") == APPROVAL, after)
        assert again == asked
        await client.send({"id": asked["id"], "result": {"decision": "accept"}})
        await client.told("turn/completed")

    serve(talk)


def test_a_thread_whose_client_went_while_it_was_opened_is_closed_in_time(serve, ferrule_home):
    ferrule_home.configure(tables="[servers.app-server]\nunload_after_s = 0.2")

    async def talk(hub):
        client, other = await hub.client(), await hub.client()
        await client.ask("thread/start", {})
        await hub.disconnect(client)
        await other.told("thread/started")
        await other.told("thread/closed")

    serve(talk)


def test_a_program_whose_client_went_while_it_was_started_ends(serve, ferrule_home):
    (folder := ferrule_home.workspace / "elsewhere").mkdir()

    async def talk(hub):
        client, other = await hub.client(), await hub.client()
        command = {"command": ["sleep", "417"], "processHandle": "a", "timeoutMs": None}
        await client.ask("process/spawn", {**command, "cwd": str(folder)})
        await anyio.lowlevel.checkpoint()
        await hub.disconnect(client)
        program = {"command": ["true"], "processHandle": "b", "cwd": str(folder)}
        await other.call("process/spawn", program)
        await other.told("process/exited")
        with anyio.fail_after(120):
            while any("sleep 417" in line for line in survivors("FERRULE_HOME=").values()):
                await anyio.sleep(0.02)

    serve(talk)


def test_a_client_that_reads_nothing_is_given_up(serve):
    """News that go to everybody cannot wait for it."""

    async def talk(hub):
        sleeper, client = await hub.client(), await hub.client()
        sleeper.is_reading = False
        for number in range(9000):
            hub.server.broadcast("thread/archived", {"threadId": str(number)})
            if number % 500 == 0:
                await client.call("thread/loaded/list", {})
        assert sleeper.connection.outbox.is_closed
        assert not client.connection.outbox.is_closed
        sleeper.read_on()

    serve(talk)


@pytest.mark.parametrize("depth", [200, 900, 100_000])
def test_a_message_that_is_nested_too_deeply_is_refused(serve, depth):
    async def talk(hub):
        client = await hub.client()
        nested = "[" * depth + "]" * depth
        await client.send(f'{{"id": 7, "method": "config/read", "params": {{"q": {nested}}}}}')
        refused = await client.until(lambda frame: "error" in frame)
        assert (refused["id"], refused["error"]["code"]) == (None, -32700)
        assert "data" in await client.call("thread/loaded/list", {})

    serve(talk)


def test_what_is_no_text_is_refused_under_its_id(serve):
    async def talk(hub):
        client = await hub.client()
        error = await client.error("thread/name/set", {"threadId": "x", "name": "\ud800"})
        assert "half of a surrogate pair" in error["message"]
        params = {"searchTerm": "\U0001f600"}
        assert (await client.call("thread/search", params))["data"] == []

    serve(talk)


def test_numbers_that_json_does_not_know_are_sent_as_null():
    sent = envelope.write({"params": {"a": float("nan"), "b": [float("inf"), 1.5]}})
    assert json.loads(sent) == {"params": {"a": None, "b": [None, 1.5]}}
