"""What changes a thread without a turn: its name, its history, its tools."""

import os

import pytest
from kernel_plugins.speech import DONE, TextDelta, call, say
from kernel_plugins.tools import Note

from ferrule_hookspecs.errors import FerruleError, PluginError
from ferrule_hookspecs.store import ThreadFilter
from ferrule_hookspecs.tools import FunctionSchema, Tool, ToolResult

TEXT = [{"type": "text", "text": "go"}]


def message(text):
    part = {"type": "input_text", "text": text}
    return {"type": "message", "role": "user", "content": [part]}


def texts(request):
    return [part["text"] for item in request.input for part in item.get("content", ())]


class Lookup(Tool):
    """A tool of the front end."""

    name = "lookup"

    def schema(self):
        return FunctionSchema(self.name, "Looks up.", {"type": "object", "properties": {}})

    async def run(self, call, context):
        return ToolResult("found")


def test_a_thread_is_named_before_its_first_turn(bench):
    names = []

    async def script(session):
        await bench.perform(session, "thread/name/set", name="  my thread ")
        names.append(session.thread["name"])

    session = bench.run(script)
    listed = bench.host.run(lambda kernel: found(kernel))

    assert names == ["my thread"]
    assert bench.of("thread/name/updated") == [
        {"threadId": session.thread["id"], "threadName": "my thread"}
    ]
    assert [summary.name for summary in listed] == ["my thread"]


async def found(kernel):
    return kernel.threads.store.list(ThreadFilter())


def test_a_thread_keeps_its_name_and_beginning_when_it_is_resumed(bench, stage):
    stage.turns.append([*say("ok"), DONE])

    async def script(session):
        await bench.start(session, "the question")
        await bench.until("turn/completed")
        await bench.perform(session, "thread/name/set", name="kept")

    first = bench.run(script)
    bench.events.clear()
    bench.run(nothing, resume=first.thread["id"])

    (started,) = bench.of("thread/started")
    assert started["thread"]["name"] == "kept"
    assert started["thread"]["preview"] == "the question"
    assert started["thread"]["createdAt"] == first.thread["createdAt"]


async def nothing(session):
    return None


def test_a_name_must_not_be_empty(bench):
    async def script(session):
        with pytest.raises(FerruleError, match="must not be empty"):
            await bench.perform(session, "thread/name/set", name=" ")

    bench.run(script)


def test_injected_items_are_read_with_the_next_request(bench, stage):
    stage.turns.append([*say("ok"), DONE])

    async def script(session):
        await bench.perform(session, "thread/inject_items", items=[message("injected")])
        await bench.start(session, "hi")
        await bench.until("turn/completed")

    session = bench.run(script)

    assert texts(stage.requests[0])[-2:] == ["injected", "hi"]
    bench.run(nothing, resume=session.thread["id"])


def test_items_that_are_injected_into_a_turn_stand_behind_its_open_calls(bench, stage):
    stage.turns.extend([[call("inject"), DONE], [*say("ok"), DONE]])
    sessions = []

    class Inject(Lookup):
        name = "inject"

        async def run(self, call, context):
            await bench.perform(sessions[0], "thread/inject_items", items=[message("in it")])
            return ToolResult("done")

    async def script(session):
        sessions.append(session)
        await bench.start(session)
        await bench.until("turn/completed")

    bench.run(script, tools=lambda context: [Inject(context)])

    kinds = [item["type"] for item in stage.requests[1].input]
    assert kinds[-3:] == ["function_call", "function_call_output", "message"]


@pytest.mark.parametrize(
    "items",
    [
        [],
        ["text"],
        [{"role": "user"}],
        [{"type": "function_call", "call_id": "x", "name": "n", "arguments": "{}"}],
        [{"type": "function_call_output", "call_id": "x", "output": "o"}],
    ],
    ids=["nothing", "text", "no type", "open call", "stray output"],
)
def test_what_would_break_the_history_is_not_injected(bench, items):
    async def script(session):
        with pytest.raises(FerruleError, match="items"):
            await bench.perform(session, "thread/inject_items", items=items)

    bench.run(script)


def test_tools_of_the_front_end_stand_behind_those_of_the_session(bench, stage):
    stage.turns.extend([[call("lookup"), DONE], [*say("ok"), DONE]])

    bench.turn(tools=lambda context: [Lookup(context)])

    assert [tool.name for tool in stage.requests[0].tools][-1] == "lookup"
    assert bench.outputs(stage)["c1"] == "found"


def test_a_tool_of_the_front_end_cannot_take_a_name_that_is_taken(bench):
    with pytest.raises(PluginError, match="'note' is there already"):
        bench.run(nothing, tools=lambda context: [Note(context)])


@pytest.mark.parametrize(("keep", "left"), [(None, 2), (2, 2), (1, 1), (0, 0), (9, 2)])
@pytest.mark.parametrize("ephemeral", [True, False])
def test_a_fork_can_begin_with_the_first_turns_only(bench, stage, keep, left, ephemeral):
    stage.turns.extend([[*say("one"), DONE], [*say("two"), DONE], [*say("three"), DONE]])

    async def script(session):
        for count in (1, 2):
            await bench.start(session, f"question {count}")
            await bench.until("turn/completed", count)

    first = bench.run(script)

    async def fork(kernel):
        options = bench.options(kernel, keep_turns=keep, ephemeral=ephemeral)
        session = await kernel.threads.fork(first.thread["id"], options)
        await bench.start(session, "and now")
        async for event in session.events():
            if event["method"] == "turn/completed":
                break
        await session.close()
        return [] if ephemeral else kernel.threads.turns(session.thread["id"])

    turns = bench.host.run(fork)

    asked = [text for text in texts(stage.requests[-1]) if text.startswith("question")]
    assert len(asked) == left
    assert ephemeral or len(turns) == left + 1


def test_input_without_anything_in_it_shows_no_message(bench, stage):
    stage.turns.append([*say("ok"), DONE])

    async def script(session):
        await bench.perform(session, "turn/start", input=[])
        await bench.until("turn/completed")

    bench.run(script)

    assert bench.items("userMessage") == []
    assert stage.requests[0].input[-1]["role"] == "user"  # the environment


def test_what_a_thread_used_is_told_again_where_it_goes_on_as_it_was_left(bench, stage):
    stage.turns.append([*say("ok"), DONE])
    first = bench.turn()
    (usage,) = bench.of("thread/tokenUsage/updated")
    bench.events.clear()

    bench.run(nothing, resume=first.thread["id"], inherits=True)

    assert bench.of("thread/tokenUsage/updated") == [usage]
    methods = [event["method"] for event in bench.events]
    assert methods[:2] == ["thread/started", "thread/tokenUsage/updated"]


def test_items_say_when_they_began_and_ended_also_when_they_are_read_again(bench, stage):
    stage.turns.extend([[call("note"), DONE], [*say("ok"), DONE]])

    session = bench.turn()

    for params in bench.of("item/started"):
        assert params["item"]["startedAtMs"] == params["startedAtMs"]
        assert params["item"]["completedAtMs"] is None
    begun = {params["item"]["id"]: params["startedAtMs"] for params in bench.of("item/started")}
    for params in bench.of("item/completed"):
        assert params["item"]["startedAtMs"] == begun[params["item"]["id"]]
        assert params["item"]["completedAtMs"] == params["completedAtMs"]
    told = [params["item"] for params in bench.of("item/completed")]
    (turn,) = bench.host.run(lambda kernel: turns_of(kernel, session.thread["id"]))
    assert turn["items"] == told


async def turns_of(kernel, thread_id):
    return kernel.threads.turns(thread_id)


def test_what_a_response_used_is_told_before_its_calls_end(bench, stage):
    stage.turns.extend([[call("note"), DONE], [*say("ok"), DONE]])

    bench.turn()

    methods = [event["method"] for event in bench.events]
    shown = [m for m in methods if m in ("item/completed", "thread/tokenUsage/updated")]
    assert shown.count("thread/tokenUsage/updated") == 2
    assert shown[:3] == ["item/completed", "thread/tokenUsage/updated", "item/completed"]


def test_skills_that_the_user_names_are_put_before_the_model_with_their_text(bench, stage):
    stage.turns.append([*say("ok"), DONE])
    file = bench.folder / "SKILL.md"
    file.write_text("Use the word cobalt.\n")
    skills = [
        {"type": "skill", "name": "demo", "path": str(file)},
        {"type": "skill", "name": "gone", "path": "/nowhere/SKILL.md"},
    ]

    async def script(session):
        await bench.perform(session, "turn/start", input=[*TEXT, *skills])
        await bench.until("turn/completed")

    bench.run(script)

    asked, demo, gone = texts(stage.requests[0])[-3:]
    assert asked == "go"
    assert demo == (
        f"<skill>\n<name>demo</name>\n<path>{file}</path>\nUse the word cobalt.\n\n</skill>"
    )
    assert "could not be read" in gone


@pytest.mark.skipif(os.name != "posix", reason="needs pipes")
def test_a_skill_that_is_a_pipe_keeps_nobody_waiting(bench, stage):
    stage.turns.append([*say("ok"), DONE])
    os.mkfifo(bench.folder / "SKILL.md")
    skill = {"type": "skill", "name": "demo", "path": str(bench.folder / "SKILL.md")}

    async def script(session):
        await bench.perform(session, "turn/start", input=[*TEXT, skill])
        await bench.until("turn/completed")

    bench.run(script)

    assert "<name>demo</name>" in texts(stage.requests[0])[-1]


def test_text_that_comes_without_announcement_streams_as_one_message(bench, stage):
    *_, done = say("one two")
    stage.turns.append([TextDelta("one "), TextDelta("two"), done, DONE])

    bench.turn()

    (item,) = bench.items("agentMessage")
    deltas = bench.of("item/agentMessage/delta")
    assert {delta["itemId"] for delta in deltas} == {item["id"]}
    assert "".join(delta["delta"] for delta in deltas) == item["text"] == "one two"
    assert len([p for p in bench.of("item/started") if p["item"]["type"] == "agentMessage"]) == 1
