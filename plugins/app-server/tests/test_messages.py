"""What is no message, what is no request, and that everything gets an answer."""

from __future__ import annotations

import pytest

from ferrule_app_server.catalogue import METHODS

NO_MESSAGES = {
    "not json": ("this is not json", -32700),
    "truncated": ('{"method":"initialize"', -32700),
    "not a number": ('{"id":NaN}', -32700),
    "deep": ("[" * 100_000, -32700),
    "not utf-8": (b'{"id":1,"method":"\xff"}'.decode("latin-1"), -32600),
    "batch": ('[{"method":"thread/list","id":900,"params":{}}]', -32600),
    "text": ('"hello"', -32600),
    "method no text": ('{"method":5,"id":1}', -32600),
    "id null": ('{"method":"thread/loaded/list","id":null,"params":{}}', -32600),
    "id fraction": ('{"method":"thread/loaded/list","id":1.5,"params":{}}', -32600),
}


@pytest.mark.parametrize(("text", "code"), NO_MESSAGES.values(), ids=NO_MESSAGES.keys())
def test_what_is_no_message_is_answered_without_an_id(serve, text, code):
    async def talk(hub):
        client = await hub.client()
        await client.send(text)
        frame = await client.until(lambda each: "error" in each)
        assert frame["id"] is None or code == -32600
        assert frame["error"]["code"] == code
        assert await client.call("thread/loaded/list", {})

    serve(talk)


def test_answers_to_nothing_and_unknown_notifications_are_left_alone(serve):
    async def talk(hub):
        client = await hub.client()
        for text in ('{"id":903,"result":{}}', '{"id":904}', '{"method":"no/such/notification"}'):
            await client.send(text)
        await client.call("thread/loaded/list", {})
        assert [frame for frame in client.frames if "error" in frame] == []

    serve(talk)


def test_ids_may_be_texts_and_jsonrpc_may_be_there(serve):
    async def talk(hub):
        client = await hub.client()
        await client.send({"method": "thread/loaded/list", "id": "one", "params": {}})
        request = {"jsonrpc": "2.0", "method": "thread/loaded/list", "id": 901, "params": {}}
        await client.send(request)
        await client.until(lambda each: each.get("id") == "one" and "result" in each)
        await client.until(lambda each: each.get("id") == 901 and "result" in each)

    serve(talk)


WRONG = {
    "no params": ("thread/loaded/list", None, "missing field `params`"),
    "params no object": ("thread/loaded/list", [1], "invalid type: sequence, expected a map"),
    "type": ("thread/start", {"cwd": 5}, "invalid type: integer `5`, expected a string"),
    "boolean": ("thread/start", {"cwd": True}, "invalid type: boolean `true`, expected a string"),
    "variant": (
        "thread/start",
        {"sandbox": "workspaceWrite"},
        "unknown variant `workspaceWrite`, expected one of `read-only`, ",
    ),
    "field": ("turn/start", {}, "missing field `threadId`"),
    "second field": ("turn/start", {"threadId": "x"}, "missing field `input`"),
    "input": (
        "turn/start",
        {"threadId": "x", "input": [{"type": "nope"}]},
        "unknown variant `nope`, expected one of `text`, `image`, `localImage`, ",
    ),
    "input no list": (
        "turn/start",
        {"threadId": "x", "input": "x"},
        'invalid type: string "x", expected a sequence',
    ),
    "reviewer": (
        "thread/start",
        {"approvalsReviewer": "robot"},
        "unknown variant `robot`, expected one of ",
    ),
}


@pytest.mark.parametrize(("method", "params", "words"), WRONG.values(), ids=WRONG.keys())
def test_wrong_parameters_are_named(serve, method, params, words):
    async def talk(hub):
        client = await hub.client()
        error = await client.error(method, params)
        assert error["code"] == -32600
        assert error["message"].startswith(f"Invalid request: {words}")

    serve(talk)


STATES = {
    "unknown thread": ("turn/start", {"input": []}, "thread not found: {id}"),
    "interrupt": ("turn/interrupt", {"turnId": "x"}, "thread not found: {id}"),
    "read": ("thread/read", {}, "thread not loaded: {id}"),
    "resume": ("thread/resume", {}, "no rollout found for thread id {id}"),
    "fork": ("thread/fork", {}, "no rollout found for thread id {id}"),
    "archive": ("thread/archive", {}, "no rollout found for thread id {id}"),
}


@pytest.mark.parametrize(("method", "params", "message"), STATES.values(), ids=STATES.keys())
def test_a_thread_that_is_not_there_is_named(serve, method, params, message):
    unknown = "00000000-0000-7000-8000-000000000000"

    async def talk(hub):
        client = await hub.client()
        error = await client.error(method, {"threadId": unknown, **params})
        assert (error["code"], error["message"]) == (-32600, message.format(id=unknown))
        odd = await client.error(method, {"threadId": "zzz", **params})
        assert "id: invalid character: expected an optional prefix of `urn:uuid:`" in odd["message"]

    serve(talk)


def test_combinations_that_contradict_each_other_are_refused(serve):
    async def talk(hub):
        client = await hub.client()
        both = {"sandbox": "read-only", "permissions": ":workspace"}
        error = await client.error("thread/start", both)
        assert error["message"] == "`permissions` cannot be combined with `sandbox`"
        error = await client.error("thread/start", {"modelProvider": "nope"})
        assert error["message"].startswith("failed to load configuration: ")
        assert "nope" in error["message"]

    serve(talk)


def test_every_published_method_is_answered(serve):
    """Whatever is asked without knowing what to send gets a result or says what is wrong."""

    async def talk(hub):
        client = await hub.client()
        for method in METHODS:
            number = await client.ask(method, {})
            frame = await client.until(
                lambda each, n=number: each.get("id") == n and "method" not in each
            )
            if "error" in frame:
                assert frame["error"]["code"] == -32600, frame
                assert frame["error"]["message"], frame
        unsupported = await client.error("thread/realtime/start", {})
        assert unsupported["message"] == "thread/realtime/start is not supported by this server"

    serve(talk)


def test_a_request_id_is_used_once_at_a_time(serve):
    async def talk(hub):
        client = await hub.client()
        slow = {"command": ["sleep", "1"], "timeoutMs": 5000}
        await client.send({"id": 70, "method": "command/exec", "params": slow})
        await client.send({"id": 70, "method": "thread/loaded/list", "params": {}})
        frame = await client.until(lambda each: each.get("id") == 70)
        assert frame["error"]["message"] == "Invalid request: id 70 is under way already"

    serve(talk)
