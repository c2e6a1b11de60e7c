"""Whole conversations, the same over every channel."""

from __future__ import annotations

import base64

import anyio
import pytest
from pydantic import BaseModel

from ferrule_sdk import CommandRequest, PatchRequest, TurnFailedError
from ferrule_testkit.model_items import freeform_call, function_call, message

ESCALATED = {
    "cmd": "touch ../outside && echo done",
    "sandbox_permissions": "require_escalated",
    "justification": "it is outside of the workspace",
}
PATCH = """\
*** Begin Patch
*** Add File: note.txt
+remember
*** End Patch
"""
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


class Finding(BaseModel):
    file: str
    note: str | None = None


def input_of(request) -> str:
    return str(request.body["input"])


def test_a_conversation_with_approvals_an_interrupt_and_a_resume(
    clients, model_server, ferrule_home, run
):
    asked = []

    async def approve(request):
        asked.append(request)
        return "accept"

    async def main():
        async with clients(approvals=approve) as f:
            thread = await f.thread(approval_policy="on-request")
            model_server.play([[function_call("exec_command", ESCALATED)], [message("It ran")]])
            ran = await thread.run("Run it")

            model_server.play([[freeform_call("apply_patch", PATCH)], [message("Patched")]])
            patched = await thread.run("Patch it", approval_policy="untrusted")

            model_server.play([[function_call("exec_command", {"cmd": "echo on; sleep 1000"})]])
            turn = await thread.start("Sleep", approval_policy="never")
            async for event in turn:
                if event["method"] == "item/commandExecution/outputDelta":
                    await turn.interrupt()
            interrupted = await turn.result()

        async with clients() as f:
            thread = await f.resume(thread.id)
            model_server.play([[message("I remember")]])
            resumed = await thread.run("Go on")
            return ran, patched, interrupted, resumed, thread

    ran, patched, interrupted, resumed, thread = run(main)

    assert isinstance(asked[0], CommandRequest)
    assert "touch ../outside" in asked[0].command
    assert asked[0].reason == ESCALATED["justification"]
    assert ran.text == "It ran"
    command = next(item for item in ran.items if item["type"] == "commandExecution")
    assert command["exitCode"] == 0
    assert isinstance(asked[1], PatchRequest)
    assert [change["kind"]["type"] for change in asked[1].changes] == ["add"]
    assert patched.text == "Patched"
    assert (ferrule_home.workspace / "note.txt").read_text() == "remember\n"
    assert interrupted.status == "interrupted"
    assert resumed.text == "I remember"
    assert "Patch it" in input_of(model_server.requests[-1])
    assert [turn["status"] for turn in thread.facts["turns"]] == [
        "completed",
        "completed",
        "interrupted",
    ]
    assert clients.leftovers() == []


def test_what_streams_adds_up_to_the_answer(clients, model_server, run):
    text = "One word comes after the other"
    model_server.play([[message(text)]])

    async def main():
        async with clients() as f:
            thread = await f.thread(ephemeral=True)
            return [event async for event in thread.stream("Speak")]

    events = run(main)
    deltas = [e["params"]["delta"] for e in events if e["method"] == "item/agentMessage/delta"]

    assert "".join(deltas) == text
    assert events[0]["method"] == "turn/started"
    assert events[-1]["method"] == "turn/completed"


def test_an_answer_in_the_shape_of_a_model(clients, model_server, run):
    model_server.play([[message('{"file": "a.py", "note": null}')]])

    async def main():
        async with clients() as f:
            return await (await f.thread(ephemeral=True)).run("Look", schema=Finding)

    result = run(main)

    assert result.parsed == Finding(file="a.py")
    schema = model_server.requests[0].body["text"]["format"]["schema"]
    assert schema["required"] == ["file", "note"]
    assert schema["additionalProperties"] is False


def test_images_reach_the_model(clients, model_server, run, tmp_path):
    picture = tmp_path / "pixel.png"
    picture.write_bytes(PIXEL)
    model_server.play([[message("A pixel")]])

    async def main():
        async with clients() as f:
            url = "data:image/png;base64," + base64.b64encode(PIXEL).decode()
            return await (await f.thread(ephemeral=True)).run("What?", images=[picture, url])

    assert run(main).text == "A pixel"
    assert input_of(model_server.requests[0]).count("data:image/png;base64,") == 2


def test_the_model_calls_a_function_of_the_program(clients, model_server, run):
    model_server.play([[function_call("weather", {"city": "Rome"})], [message("Sunny")]])

    async def main():
        f = clients()

        @f.tool
        def weather(city: str, days: int = 1) -> dict[str, object]:
            """Tell the weather."""
            return {"city": city, "days": days}

        async with f:
            return await (await f.thread(ephemeral=True)).run("How is Rome?")

    result = run(main)

    assert [item["type"] for item in result.items][1] == "dynamicToolCall"
    assert '{"city":"Rome","days":1}' in input_of(model_server.requests[1])


def test_steering_is_heard_in_the_same_turn(clients, model_server, run):
    wait = {"cmd": "until [ -e go ]; do sleep 0.02; done"}
    model_server.play([[function_call("exec_command", wait)], [message("Heard")]])

    async def main():
        async with clients(config={"approval_policy": "never"}) as f:
            thread = await f.thread(ephemeral=True)
            turn = await thread.start("Wait")
            async for event in turn:
                if event["method"] == "item/started" and (
                    event["params"]["item"]["type"] == "commandExecution"
                ):
                    await turn.steer("Faster please")
                    await anyio.Path(clients.home.workspace / "go").touch()
            return await turn.result()

    assert run(main).text == "Heard"
    assert "Faster please" in input_of(model_server.requests[1])


def test_threads_are_found_forked_and_put_away(clients, model_server, run):
    model_server.play([[message("One")], [message("Two")]])

    async def main():
        async with clients() as f:
            thread = await f.thread()
            await thread.run("First words")
            await thread.rename("The first")
            forked = await f.fork(thread.id)
            await forked.run("More words")
            await thread.archive()
            listed = [each["id"] for each in await f.threads()]
            archived = [each["name"] for each in await f.threads(archived=True)]
            return forked.id, listed, archived, [each["model"] for each in await f.models()]

    forked, listed, archived, models = run(main)

    assert "First words" in input_of(model_server.requests[1])
    assert listed == [forked]
    assert archived == ["The first"]
    assert "gpt-5.5" in models


def test_without_a_callback_what_needs_approval_is_declined(clients, model_server, run):
    model_server.play([[function_call("exec_command", ESCALATED)], [message("A pity")]])

    async def main():
        async with clients() as f:
            thread = await f.thread(approval_policy="on-request", ephemeral=True)
            return await thread.run("Run it")

    result = run(main)
    command = next(item for item in result.items if item["type"] == "commandExecution")

    assert command["status"] == "declined"
    assert result.text == "A pity"
    assert not (clients.home.workspace.parent / "outside").exists()


def test_a_turn_that_fails_says_why(clients, model_server, run):
    model_server.play([{"status": 400, "body": {"error": {"message": "no such model"}}}])

    async def main():
        async with clients() as f:
            await (await f.thread(ephemeral=True)).run("Hello")

    with pytest.raises(TurnFailedError, match="no such model"):
        run(main)
