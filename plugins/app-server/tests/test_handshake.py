"""The handshake, and what is kept for clients that ask for it."""

from __future__ import annotations

import re

import pytest


def test_nothing_is_answered_before_the_handshake(serve):
    async def talk(hub):
        client = hub.connect()
        error = await client.error("thread/list", {})
        assert (error["code"], error["message"]) == (-32600, "Not initialized")
        unknown = await client.error("no/such/method", {})
        known = "unknown variant `no/such/method`, expected one of `initialize`"
        assert known in unknown["message"]

    serve(talk)


def test_the_reply_says_who_we_are_and_which_protocol_this_is(serve, ferrule_home):
    async def talk(hub):
        reply = await hub.connect().initialize()
        assert re.match(r"tester/0\.(1[5-9]\d|[2-9]\d\d)\.\d+ \(", reply["userAgent"])
        assert "ferrule/" in reply["userAgent"]
        assert reply["codexHome"] == str(ferrule_home.path)

    serve(talk)


def test_a_second_handshake_is_refused_and_a_client_without_capabilities_is_welcome(serve):
    async def talk(hub):
        client = hub.connect()
        wrong = await client.error("initialize", {"nonsense": 1})
        assert wrong["message"] == "Invalid request: missing field `clientInfo`"
        params = {"clientInfo": {"name": "old", "version": "0"}, "protocolVersion": "2"}
        assert (await client.call("initialize", params))["platformFamily"]
        again = await client.error("initialize", params)
        assert again["message"] == "Already initialized"
        assert await client.call("thread/loaded/list", {}) == {"data": [], "nextCursor": None}

    serve(talk)


@pytest.mark.parametrize(
    ("method", "params", "named"),
    [
        ("thread/search", {"searchTerm": "x"}, "thread/search"),
        ("mock/experimentalMethod", {}, "mock/experimentalMethod"),
        ("thread/start", {"dynamicTools": []}, "thread/start.dynamicTools"),
        ("turn/start", {"threadId": "x", "environments": []}, "turn/start.environments"),
    ],
)
def test_what_is_experimental_is_for_clients_that_ask_for_it(serve, method, params, named):
    async def talk(hub):
        client = await hub.client(experimental=False)
        error = await client.error(method, params)
        assert error["message"] == f"{named} requires experimentalApi capability"

    serve(talk)


def test_notifications_can_be_declined_by_name(serve, model_server):
    from ferrule_testkit.model_items import message

    model_server.play([[message("hello there")]])

    async def talk(hub):
        declined = ["item/agentMessage/delta", "thread/started", "not/known"]
        client = await hub.client(optOutNotificationMethods=declined)
        await client.whole_turn(await client.thread())
        assert not {"item/agentMessage/delta", "thread/started"} & set(client.methods())
        assert "item/completed" in client.methods()

    serve(talk)


def test_what_only_ferrule_tells_is_for_clients_that_ask_for_it(serve, model_server):
    from ferrule_testkit.model_items import function_call, message

    call = function_call("update_plan", {"plan": [{"step": "a", "status": "pending"}]})
    model_server.play([[call], [message("done")]])

    async def talk(hub):
        plain, curious = await hub.client(), await hub.client(extensions={"ferrule": {}})
        thread_id = await plain.thread()
        await curious.call("thread/resume", {"threadId": thread_id})
        await plain.whole_turn(thread_id)
        await curious.told("turn/completed")
        assert "item/decision" in curious.methods()
        assert "item/decision" not in plain.methods()

    serve(talk)
