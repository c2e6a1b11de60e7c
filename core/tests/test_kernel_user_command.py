"""A user's own command: without the sandbox, in the running turn or one of its own."""

import json

import anyio
import pytest
from kernel_plugins.speech import DONE, call, say

from ferrule_hookspecs.errors import FerruleError
from ferrule_hookspecs.tools import FunctionSchema, Tool, ToolCall, ToolResult


class Typed(Tool):
    """Runs what the user types."""

    name = "typed"
    hold = None
    seen = ()

    def schema(self):
        return FunctionSchema(self.name, "Runs.", {"type": "object", "properties": {}})

    def user_command(self, command, timeout_ms):
        arguments = {"line": command, "limit": timeout_ms}
        return ToolCall("", self.name, arguments, json.dumps(arguments), "function")

    async def run(self, call, context):
        Typed.seen = (call, context.sandbox.policy.unconfined)
        if self.hold is not None:
            await self.hold.wait()
        return ToolResult(f"output of {call.arguments['line']}")


@pytest.fixture
def shell(bench):
    """Run a script in a session that can run commands, by no other tool than ours."""
    bench.configure("features.shell_tool = false")

    def run(script, hold=None):
        tool = type("Held", (Typed,), {"hold": hold})
        return bench.run(script, tools=lambda context: [tool(context)])

    return run


def read_by_the_model(stage, request=-1):
    contents = [item.get("content", ()) for item in stage.requests[request].input]
    return [part["text"] for content in contents for part in content]


def methods(bench):
    told = [event["method"] for event in bench.events]
    return [method for method in told if method.startswith(("turn/", "item/"))]


def test_it_runs_in_a_turn_of_its_own_and_the_model_reads_of_it_later(shell, bench, stage):
    stage.turns.append([*say("ok"), DONE])

    async def script(session):
        turn = await bench.perform(session, "thread/shellCommand", command="ls", timeoutMs=7)
        assert turn["turnId"]
        await bench.until("turn/completed")
        assert stage.requests == []
        await bench.start(session, "hi")
        await bench.until("turn/completed", 2)

    shell(script)

    assert methods(bench)[:4] == [
        "turn/started",
        "item/started",
        "item/completed",
        "turn/completed",
    ]
    tool_call, unconfined = Typed.seen
    assert (tool_call.arguments["limit"], unconfined) == (7, True)
    before, question = read_by_the_model(stage)[-2:]
    assert "$ ls\noutput of ls" in before
    assert question == "hi"


def test_in_a_running_turn_it_runs_beside_what_the_model_does(shell, bench, stage):
    stage.turns.extend([[call("refused"), DONE], [*say("ok"), DONE]])
    bench.set_key("approval_policy", '"on-request"')

    async def script(session):
        asked, answer = anyio.Event(), anyio.Event()

        async def decide(request, context):
            asked.set()
            await answer.wait()
            return "accept"

        stage.reviews.append(decide)
        turn = await bench.perform(session, "turn/start", input=[{"type": "text", "text": "go"}])
        await asked.wait()
        assert turn == await bench.perform(session, "thread/shellCommand", command="ls")
        await bench.until("item/completed", 2)
        answer.set()
        await bench.until("turn/completed")

    shell(script)

    assert len(bench.of("turn/started")) == 1
    kinds = [item["type"] for item in stage.requests[1].input]
    assert kinds[-3:] == ["function_call", "function_call_output", "message"]
    assert "output of ls" in read_by_the_model(stage)[-1]


def test_a_turn_waits_for_the_command_that_runs_in_it(shell, bench, stage):
    stage.turns.append([*say("ok"), DONE])
    hold = anyio.Event()

    async def script(session):
        before = anyio.Event()

        async def wait(request, turn):
            await before.wait()

        stage.hooks["ferrule_request_before"] = wait
        await bench.start(session)
        await bench.until("item/completed")
        await bench.perform(session, "thread/shellCommand", command="ls")
        before.set()
        while not bench.items("agentMessage"):
            await anyio.sleep(0.001)
        await anyio.wait_all_tasks_blocked()
        assert bench.of("turn/completed") == []
        hold.set()
        await bench.until("turn/completed")

    shell(script, hold)

    assert methods(bench)[-2:] == ["item/completed", "turn/completed"]


def test_an_interrupt_ends_it_and_completes_its_item(shell, bench):
    async def script(session):
        await bench.perform(session, "thread/shellCommand", command="sleep")
        await bench.until("item/started")
        await bench.perform(session, "turn/interrupt", turnId="")
        await bench.until("turn/completed")

    shell(script, anyio.Event())

    assert methods(bench)[-2:] == ["item/completed", "turn/completed"]
    assert bench.of("turn/completed")[0]["turn"]["status"] == "interrupted"


def test_input_joins_a_turn_that_runs_a_command(shell, bench, stage):
    stage.turns.append([*say("ok"), DONE])
    hold = anyio.Event()

    async def script(session):
        turn = await bench.perform(session, "thread/shellCommand", command="ls")
        content = [{"type": "text", "text": "and now"}]
        assert turn == await bench.perform(session, "turn/start", input=content)
        hold.set()
        await bench.until("turn/completed")

    shell(script, hold)

    assert "output of ls" in read_by_the_model(stage)[-2]
    assert read_by_the_model(stage)[-1] == "and now"


@pytest.mark.parametrize("line", ["", "  "])
def test_there_must_be_a_command(shell, bench, line):
    async def script(session):
        with pytest.raises(FerruleError, match="command must not be empty"):
            await bench.perform(session, "thread/shellCommand", command=line)

    shell(script)


def test_the_administrator_s_sandbox_holds_for_the_user_too(shell, bench, rules):
    rules('allowed_sandbox_modes = ["read-only", "workspace-write"]')

    async def script(session):
        with pytest.raises(FerruleError, match=r"runs without the sandbox.*requirements\.toml"):
            await bench.perform(session, "thread/shellCommand", command="ls")

    shell(script)

    assert bench.of("turn/started") == []


def test_without_a_shell_it_says_what_to_install(bench):
    bench.configure("features.shell_tool = false")

    async def script(session):
        with pytest.raises(FerruleError, match="install ferrule-shell"):
            await bench.perform(session, "thread/shellCommand", command="ls")

    bench.run(script)
