"""Questions to the client: how the thread stands meanwhile, and what becomes of their answers."""

import json

import anyio
import pytest
from kernel_plugins.speech import DONE, call, say

from ferrule_hookspecs.errors import FerruleError
from ferrule_hookspecs.tools import FunctionSchema, Tool, ToolResult

TEXT = [{"type": "text", "text": "go"}]


class Ask(Tool):
    """Puts a question to the client."""

    name = "ask"

    def schema(self):
        return FunctionSchema(self.name, "Asks.", {"type": "object", "properties": {}})

    async def run(self, call, context):
        answer = await context.ask_client(
            {"id": 0, "method": call.arguments["method"], "params": call.arguments["params"]}
        )
        return ToolResult(json.dumps(answer))


def order(bench, *methods):
    return [event["method"] for event in bench.events if event["method"] in methods]


@pytest.fixture
def put(bench, stage):
    """Have a tool put a question, and answer it; returns how the thread stood."""

    def run(method, params=None, answer=None):
        arguments = json.dumps({"method": method, "params": params or {}})
        stage.turns.extend([[call("ask", arguments), DONE], [*say("ok"), DONE]])

        async def script(session):
            await bench.start(session)
            while method not in [event["method"] for event in bench.events]:
                await anyio.sleep(0.001)
            if answer is None:
                await bench.perform(session, "turn/interrupt", turnId="")
            else:
                await bench.perform(session, "serverRequest/answer", requestId=0, result=answer)
                with pytest.raises(FerruleError, match="is not open"):
                    await bench.perform(session, "serverRequest/answer", requestId=0, result={})
            await bench.until("turn/completed")

        bench.run(script, can_answer=True, tools=lambda context: [Ask(context)])
        statuses = [params["status"] for params in bench.of("thread/status/changed")]
        return [status["activeFlags"] for status in statuses if status["type"] == "active"]

    return run


@pytest.mark.parametrize(
    ("method", "params", "flag"),
    [
        ("item/tool/requestUserInput", {}, "waitingOnUserInput"),
        ("mcpServer/elicitation/request", {}, "waitingOnUserInput"),
        (
            "mcpServer/elicitation/request",
            {"_meta": {"codex_approval_kind": "mcp_tool_call"}},
            "waitingOnApproval",
        ),
        ("item/permissions/requestApproval", {}, "waitingOnApproval"),
        ("item/fileChange/requestApproval", {}, "waitingOnApproval"),
    ],
)
def test_the_status_says_what_the_thread_waits_on(put, bench, stage, method, params, flag):
    assert put(method, params, {"x": 1}) == [[], [flag], []]
    assert json.loads(bench.outputs(stage)["c1"]) == {"x": 1}
    assert bench.of("serverRequest/resolved")[0]["requestId"] == 0


def test_a_tool_that_the_client_runs_is_no_question_to_a_person(put, bench):
    assert put("item/tool/call", answer={"success": True}) == [[]]
    assert bench.of("serverRequest/resolved") == []


@pytest.mark.parametrize("method", ["item/tool/requestUserInput", "item/tool/call"])
def test_an_interrupt_withdraws_a_question_before_the_turn_ends(put, bench, method):
    put(method)

    told = ("serverRequest/resolved", "item/completed", "turn/completed")
    assert order(bench, *told)[-3:] == list(told)
    assert bench.items("dynamicToolCall")[0]["status"] == "failed"


@pytest.fixture
def answered(bench, stage):
    """Have a call reviewed with an outcome; returns the call's item."""
    bench.set_key("approval_policy", '"on-request"')

    def run(outcome, name="refused", **arguments):
        stage.turns.extend([[call(name, json.dumps(arguments)), DONE], [*say("ok"), DONE]])
        stage.reviews.append(outcome)
        bench.turn()
        return bench.items("dynamicToolCall")[0]

    return run


def test_a_request_that_nobody_could_answer_fails_the_call(answered, bench, stage):
    item = answered({"decision": "decline", "failed": True, "reason": "approval request failed"})

    assert item["status"] == "failed"
    assert bench.outputs(stage)["c1"] == "approval request failed"
    assert stage.ran == []


def test_cancelling_a_question_ends_the_turn_with_its_items_completed(answered, bench):
    item = answered("cancel")

    assert item["status"] == "failed"
    assert bench.of("turn/completed")[0]["turn"]["status"] == "interrupted"
    assert order(bench, "item/completed", "turn/completed")[-1] == "turn/completed"


@pytest.mark.parametrize(
    ("granted", "works"),
    [
        ({"fileSystem": {"write": ["A", "B"]}}, {"a": True, "b": True}),
        ({"fileSystem": {"write": ["A"]}}, {"a": True, "b": False}),
        ({"fileSystem": {"write": ["A", "/"]}}, {"a": True, "b": False}),
        ({"fileSystem": {"entries": ["ENTRY"]}}, {"a": True, "b": False}),
        ({"fileSystem": {"read": ["A"]}, "network": {"enabled": True}}, {"a": False, "b": False}),
        ({}, {"a": False, "b": False}),
    ],
    ids=["all", "a part", "more than asked", "as entries", "something else", "nothing"],
)
def test_only_what_was_asked_for_and_granted_holds(bench, stage, granted, works):
    bench.set_key("approval_policy", '"on-request"')
    folders = {name: bench.folder / name for name in works}
    for folder in folders.values():
        folder.mkdir()
    text = json.dumps(granted)
    text = text.replace('"ENTRY"', '{"path": {"type": "path", "path": "A"}, "access": "write"}')
    granted = json.loads(
        text.replace('"A"', f'"{folders["a"]}"').replace('"B"', f'"{folders["b"]}"')
    )
    needs = {"write": [str(folder) for folder in folders.values()]}
    touches = [
        call("touch", json.dumps({"path": str(folder / "file")}), id_=name)
        for name, folder in folders.items()
    ]
    stage.turns.extend(
        [[call("grant", json.dumps({"needs": needs})), DONE], [*touches, DONE], [*say("ok"), DONE]]
    )
    stage.reviews.append({"decision": "accept", "granted": granted})

    bench.turn()

    assert {name: (folder / "file").exists() for name, folder in folders.items()} == works


@pytest.mark.parametrize("can_answer", [True, False])
def test_a_tool_that_needs_a_client_is_offered_where_one_can_answer(bench, stage, can_answer):
    stage.turns.append([*say("ok"), DONE])
    needy = type("Needy", (Ask,), {"needs_client": True})

    bench.turn(can_answer=can_answer, tools=lambda context: [needy(context)])

    assert ("ask" in [tool.name for tool in stage.requests[0].tools]) is can_answer
