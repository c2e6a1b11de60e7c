"""What changes a thread without a turn: its name, its history, its tools."""

import pytest
from kernel_plugins.speech import DONE, call, say
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
