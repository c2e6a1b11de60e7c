"""What the tools do, and what they say where they cannot."""

import anyio
import pytest

from ferrule_mcp_server.call_arguments import start_of
from ferrule_testkit.model_items import message

RECORDED = {  # what Codex 0.153.4 offered
    "prompt": None,
    "model": None,
    "cwd": None,
    "sandbox": ["read-only", "workspace-write", "danger-full-access"],
    "approval-policy": ["on-request", "never"],
    "config": None,
    "base-instructions": None,
    "developer-instructions": None,
    "compact-prompt": None,
}
NO_THREAD = "00000000-0000-4000-8000-000000000000"


def text_of(result):
    (content,) = result.content
    return content.text


def test_the_tools_of_codex_are_offered_with_their_arguments(stage):
    async def conversation(client):
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}

        start, reply = tools["codex"], tools["codex-reply"]
        assert list(tools) == ["codex", "codex-reply", "codex-interrupt", "codex-list"]
        assert set(start.input_schema["properties"]) == set(RECORDED)
        for name, values in RECORDED.items():
            assert set(values or ()) <= set(start.input_schema["properties"][name].get("enum", ()))
        assert start.input_schema["required"] == ["prompt"]
        assert start.input_schema["additionalProperties"] is False
        assert set(reply.input_schema["properties"]) == {"prompt", "threadId", "conversationId"}
        assert "additionalProperties" not in reply.input_schema
        for tool in (start, reply):
            assert tool.output_schema["required"] == ["threadId", "content"]

    stage.talk(conversation)


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
def test_a_thread_is_started_and_gone_on_with(stage, mode):
    names = [
        ("codex", "codex-reply", "threadId"),
        ("codex", "codex-reply", "conversationId"),
        ("codex_tool_call", "codex_tool_call_reply", "threadId"),
    ]

    async def conversation(client):
        for start, reply, name in names:
            stage.play("answer one", "answer two")
            one = await client.call_tool(start, {"prompt": "begin"})
            thread_id = one.structured_content["threadId"]
            two = await client.call_tool(reply, {"prompt": "go on", name: thread_id})

            assert one.structured_content == {"threadId": thread_id, "content": "answer one"}
            assert two.structured_content == {"threadId": thread_id, "content": "answer two"}
            assert (text_of(one), text_of(two)) == ("answer one", "answer two")
            assert not one.is_error
            assert not two.is_error
            told = str(stage.model.requests[-1].body["input"])
            assert told.index("'begin'") < told.index("answer one") < told.index("'go on'")

    stage.talk(conversation, mode=mode)


def test_arguments_decide_how_a_thread_works(stage):
    stage.play("done")
    (stage.home.workspace / "sub").mkdir()
    arguments = {
        "prompt": "go",
        "cwd": "sub",
        "model": "gpt-5.4",
        "sandbox": "read-only",
        "base-instructions": "BASE",
        "developer-instructions": "MORE",
        "config": {"model_reasoning_effort": "low"},
    }

    async def conversation(client):
        await client.call_tool("codex", arguments)

    stage.talk(conversation)
    body = stage.model.requests[0].body
    told = str(body)
    assert body["model"] == "gpt-5.4"
    assert body["reasoning"]["effort"] == "low"
    assert "BASE" in told
    assert "MORE" in told
    assert str(stage.home.workspace / "sub") in told
    assert "read only" in told or "read-only" in told or "readOnly" in told


WRONG = [
    ("codex", {}, "codex: the argument `prompt` is missing"),
    ("codex", {"prompt": 5}, "codex: `prompt` must be a text, not 5"),
    ("codex", {"prompt": "x", "sandbox": "bogus"}, "`sandbox` must be one of `read-only`, "),
    ("codex", {"prompt": "x", "bogus": 1}, "there is no argument `bogus`; there are `prompt`"),
    ("codex", {"prompt": "x", "cwd": "nowhere"}, "nowhere' does not exist"),
    ("codex", {"prompt": "x", "config": {"sandbox_mode": 5}}, "sandbox_mode"),
    ("codex-reply", {"prompt": "x"}, "codex-reply: the argument `threadId` is missing"),
    ("codex-reply", {"prompt": "x", "threadId": "bogus"}, "Session not found for thread_id: b"),
    ("codex-reply", {"prompt": "x", "threadId": NO_THREAD}, "Session not found for thread_id"),
    ("codex-interrupt", {"threadId": NO_THREAD}, "Session not found for thread_id"),
    ("codex-list", {"limit": 0}, "codex-list: `limit` must be from 1 to 200, not 0"),
    ("nope", {}, "Unknown tool 'nope'"),
]


def test_what_is_wrong_with_a_call_is_told_to_the_model(stage):
    async def conversation(client):
        for tool, arguments, words in WRONG:
            result = await client.call_tool(tool, arguments)

            assert result.is_error, (tool, arguments)
            assert words in text_of(result)

    stage.talk(conversation)
    assert not stage.model.requests


def test_a_turn_that_fails_is_an_error_that_names_its_thread(stage):
    stage.model.play({"turns": [{"status": 400, "body": {"error": {"message": "no such"}}}]})

    async def conversation(client):
        result = await client.call_tool("codex", {"prompt": "go"})

        assert result.is_error
        assert "no such" in text_of(result)
        assert result.structured_content["content"] == text_of(result)
        listed = await client.call_tool("codex-list", {})
        threads = [each["threadId"] for each in listed.structured_content["threads"]]
        assert threads == [result.structured_content["threadId"]]

    stage.talk(conversation)


def test_threads_are_put_away_and_gone_on_with_all_the_same(stage):
    stage.play(*(f"answer {number}" for number in range(12)))

    async def conversation(client):
        ids = []
        for number in range(11):
            result = await client.call_tool("codex", {"prompt": f"question {number}"})
            ids.append(result.structured_content["threadId"])
        listed = await client.call_tool("codex-list", {"limit": 50})
        stands = {each["threadId"]: each["status"] for each in listed.structured_content["threads"]}
        assert [stands[thread_id] for thread_id in ids] == ["stored"] * 3 + ["idle"] * 8

        result = await client.call_tool("codex-reply", {"prompt": "more", "threadId": ids[0]})
        assert text_of(result) == "answer 11"

    stage.talk(conversation)
    told = str(stage.model.requests[-1].body["input"])
    assert "question 0" in told
    assert "question 1" not in told


def test_a_thread_that_is_being_put_away_is_gone_on_with(stage, wired):
    stage.play("one", "two")

    async def conversation(server):
        async with wired(server) as wire:
            await wire.initialize()
            first = await wire.result(await wire.call("codex", {"prompt": "begin"}))
            thread_id = first["structuredContent"]["threadId"]
            start = start_of({"prompt": "x"})
            newest = [await server.shelf.start(start, can_ask=False) for _ in range(8)][-1]
            async with anyio.create_task_group() as group:
                group.start_soon(server.shelf.done, newest)
                await anyio.sleep(0)
                again = await wire.call("codex-reply", {"prompt": "x", "threadId": thread_id})
                result = await wire.result(again)
            assert result["structuredContent"]["content"] == "two"

    stage.run(conversation)


def test_a_turn_can_be_stopped_by_another_call(stage, wired):
    stage.play({"items": [message("partial")], "hang": True}, "after")

    async def conversation(server):
        async with wired(server) as wire:
            await wire.initialize()
            call = await wire.call("codex", {"prompt": "hang"})
            thread_id = (await wire.event("agent_message"))["_meta"]["threadId"]
            busy = await wire.call("codex-reply", {"prompt": "x", "threadId": thread_id})
            assert "is at work" in (await wire.result(busy))["content"][0]["text"]

            stop = await wire.result(await wire.call("codex-interrupt", {"threadId": thread_id}))
            ended = await wire.result(call)

            text = "The turn was interrupted."
            assert stop["structuredContent"] == {"threadId": thread_id, "content": text}
            assert ended["structuredContent"] == {"threadId": thread_id, "content": text}
            assert ended["isError"]
            idle = await wire.result(await wire.call("codex-interrupt", {"threadId": thread_id}))
            assert idle["structuredContent"]["content"] == "No turn was running."
            again = await wire.call("codex-reply", {"prompt": "x", "threadId": thread_id})
            assert (await wire.result(again))["structuredContent"]["content"] == "after"

    stage.run(conversation)
