"""Deferred tools: what the model is told at first, what a search adds, and what stays."""

import json

import pytest
from kernel_plugins.provider import StagedProvider
from kernel_plugins.speech import DONE, call, say

from ferrule_hookspecs.models import ModelInfo
from ferrule_hookspecs.provider import ItemDone
from ferrule_hookspecs.tool_finding import ToolFinder
from ferrule_hookspecs.tools import FunctionSchema, HostedSchema, Tool, ToolNamespace, ToolResult

SPACE = ToolNamespace("mcp__docs", "The docs.")
NOTHING = {"type": "object", "properties": {}}


class Remote(Tool):
    deferred = True
    namespace = SPACE
    parallel = True

    def schema(self):
        return FunctionSchema(self.name, f"Does {self.name}.", NOTHING)

    async def run(self, call, context):
        return ToolResult(f"{self.name} ran")


class Finder(ToolFinder):
    """Finds the tools whose names hold the query."""

    name = "finder"
    read_only = True

    def schema(self):
        return FunctionSchema(self.name, "Finds tools.", NOTHING)

    def should_defer(self, count, *, is_native):
        return is_native

    def item(self, call, cwd):
        return None

    async def run(self, call, context):
        query = call.arguments.get("query", "-")
        known = [tool.schema.name for tool in self.context.services.deferred_tools()]
        names = tuple(name for name in reversed(known) if query in name)
        return ToolResult(f"found {len(names)}", found=names)


class EagerFinder(Finder):
    """Wants tools to be deferred whatever the API."""

    def should_defer(self, count, *, is_native):
        return True


class Late(Tool):
    """Brings more tools while the session is open."""

    name = "late"
    count = 0

    def schema(self):
        return FunctionSchema(self.name, "Brings more.", NOTHING)

    async def run(self, call, context):
        kinds = remotes(*(f"mcp__late__{number}" for number in range(self.count)))
        self.context.services.offer_tools([kind(self.context) for kind in kinds])
        return ToolResult("brought")


class Hosted(Tool):
    name = "moon_search"

    def schema(self):
        return HostedSchema(self.name, {"external_web_access": False})

    async def run(self, call, context):
        raise AssertionError("the provider runs it")


def remotes(*names, space=SPACE):
    """Make one tool of each name."""
    return [type("One", (Remote,), {"name": name, "namespace": space}) for name in names]


def bring(*kinds):
    return lambda context: [kind(context) for kind in kinds]


def search(query, id_="s1"):
    return ItemDone(
        {
            "type": "tool_search_call",
            "id": "ts_1",
            "call_id": id_,
            "status": "completed",
            "execution": "client",
            "arguments": {"query": query},
        }
    )


def told(stage, request=-1):
    """Names of the tools of a request; the special ones are told apart."""
    sent = stage.requests[request]
    return [tool.name for tool in sent.tools], [tool.name for tool in sent.special_tools]


@pytest.fixture
def native(stage, monkeypatch):
    """A model and a provider that have a form of their own for the search."""
    monkeypatch.setattr(
        StagedProvider, "special_tools", ("tool_search", "moon_search"), raising=False
    )
    stage.hooks["ferrule_models"] = [ModelInfo("test-model", tool_search=True)]


FEW = remotes("mcp__docs__read", "mcp__docs__write")
MORE = [*FEW, *remotes("mcp__docs__list", "mcp__docs__find")]


@pytest.fixture(autouse=True)
def alone(bench):
    """No other tool finder than the test's."""
    bench.set_key("tools", "{ tool_search = false }")


def own(names):
    return [name for name in names if name.startswith(("mcp__", "find"))]


def test_what_was_found_is_answered_in_the_api_s_own_form_and_the_list_stays(bench, stage, native):
    stage.turns.extend(
        [
            [search("write"), DONE],
            [
                ItemDone(
                    {
                        "type": "function_call",
                        "call_id": "c1",
                        "namespace": "mcp__docs",
                        "name": "write",
                        "arguments": "{}",
                    }
                ),
                DONE,
            ],
            [*say("ok"), DONE],
        ]
    )

    bench.turn(tools=bring(Finder, *FEW))

    first, last = stage.requests[0], stage.requests[-1]
    assert first.tools == last.tools
    assert first.special_tools == last.special_tools
    assert own(told(stage)[0]) == []
    assert told(stage)[1] == ["finder"]
    assert list(last.input)[: len(first.input)] == list(first.input)
    answer = next(item for item in last.input if item["type"] == "tool_search_output")
    function = {
        "type": "function",
        "name": "write",
        "description": "Does mcp__docs__write.",
        "strict": False,
        "defer_loading": True,
        "parameters": NOTHING,
    }
    assert answer == {
        "type": "tool_search_output",
        "call_id": "s1",
        "status": "completed",
        "execution": "client",
        "tools": [
            {
                "type": "namespace",
                "name": "mcp__docs",
                "description": "The docs.",
                "tools": [function],
            }
        ],
    }
    outputs = [item for item in last.input if item["type"] == "function_call_output"]
    assert outputs[0]["output"] == "mcp__docs__write ran"


def test_where_the_finder_wants_no_deferring_all_tools_are_told_and_it_is_not_offered(bench, stage):
    stage.turns.append([*say("ok"), DONE])

    bench.turn(tools=bring(Finder, *FEW))

    assert own(told(stage)[0]) == ["mcp__docs__read", "mcp__docs__write"]
    assert told(stage)[1] == []


def test_without_that_form_found_tools_are_added_to_the_end_of_the_list(bench, stage):
    stage.turns.extend(
        [
            [call("finder", json.dumps({"query": "write"})), DONE],
            [call("finder", json.dumps({"query": "find"}), "c2"), DONE],
            [call("mcp__docs__write", id_="c3"), DONE],
            [*say("ok"), DONE],
        ]
    )

    bench.turn(tools=bring(EagerFinder, *MORE))

    lists = [told(stage, number)[0] for number in range(4)]
    assert own(lists[0]) == ["finder"]
    assert lists[1] == [*lists[0], "mcp__docs__write"]
    assert lists[2] == lists[3] == [*lists[1], "mcp__docs__find"]
    assert bench.outputs(stage) == {"c1": "found 1", "c2": "found 1", "c3": "mcp__docs__write ran"}


def test_a_thread_that_goes_on_knows_what_it_had_found(bench, stage):
    stage.turns.extend(
        [
            [call("finder", json.dumps({"query": "write"})), DONE],
            [call("finder", json.dumps({"query": "read"}), "c2"), DONE],
            [*say("ok"), DONE],
            [*say("ok"), DONE],
        ]
    )
    kinds = (EagerFinder, *MORE, Late)
    session = bench.turn(tools=bring(*kinds))
    before = told(stage)[0]
    bench.events.clear()

    bench.turn(resume=session.thread["id"], tools=bring(*kinds))

    assert told(stage)[0] == before
    assert before[-3:] == ["late", "mcp__docs__write", "mcp__docs__read"]


def test_a_stored_search_in_the_api_s_own_form_is_sent_again(bench, stage, native):
    stage.turns.extend([[search("write"), DONE], [*say("ok"), DONE], [*say("ok"), DONE]])
    session = bench.turn(tools=bring(Finder, *FEW))
    before = list(stage.requests[-1].input)
    bench.events.clear()

    bench.turn(resume=session.thread["id"], tools=bring(Finder, *FEW))

    assert list(stage.requests[-1].input)[: len(before)] == before


def test_a_deferred_tool_can_be_called_although_nobody_has_found_it(bench, stage, native):
    stage.turns.extend([[call("mcp__docs__read"), DONE], [*say("ok"), DONE]])

    bench.turn(tools=bring(Finder, *FEW))

    assert bench.outputs(stage) == {"c1": "mcp__docs__read ran"}


def test_a_search_that_fails_has_an_answer(bench, stage, native):
    class Faulty(Finder):
        async def run(self, call, context):
            raise RuntimeError("boom")

    stage.turns.extend([[search("x"), DONE], [*say("ok"), DONE]])

    bench.turn(tools=bring(Faulty, *FEW))

    answer = next(i for i in stage.requests[-1].input if i["type"] == "tool_search_output")
    assert answer["tools"] == []


def test_a_search_where_no_tool_can_search_has_an_answer(bench, stage, native):
    stage.turns.extend([[search("x"), DONE], [*say("ok"), DONE]])

    bench.turn()

    answer = next(i for i in stage.requests[-1].input if i["type"] == "tool_search_output")
    assert answer["tools"] == []
    assert [each["tool"] for each in bench.items("dynamicToolCall")] == ["tool_search"]
    assert bench.items("dynamicToolCall")[0]["status"] == "failed"


def test_tools_without_a_common_prefix_are_called_in_their_namespace(bench, stage, native):
    space = ToolNamespace("ships", "Ships.")
    (hail,) = remotes("hail_ship", space=space)
    item = {"type": "function_call", "call_id": "c1", "name": "hail_ship", "arguments": "{}"}
    stage.turns.extend(
        [
            [ItemDone({**item, "namespace": "ships"}), DONE],
            [call("ships__hail_ship", id_="c2"), DONE],
            [search("hail"), DONE],
            [*say("ok"), DONE],
        ]
    )

    bench.turn(tools=bring(Finder, hail))

    assert bench.outputs(stage, 2) == {"c1": "hail_ship ran", "c2": "hail_ship ran"}
    answer = next(i for i in stage.requests[-1].input if i["type"] == "tool_search_output")
    assert answer["tools"][0]["tools"][0]["name"] == "hail_ship"


def test_a_tool_that_the_provider_runs_is_offered_where_the_provider_has_it(bench, stage, native):
    stage.turns.extend([[call("moon_search"), DONE], [*say("ok"), DONE]])

    bench.turn(tools=bring(Hosted))

    assert told(stage)[1] == ["moon_search"]
    assert stage.requests[0].special_tools[0].settings == {"external_web_access": False}
    assert "run by the model's provider" in bench.outputs(stage)["c1"]


def test_a_tool_that_asks_the_user_says_so_where_nobody_can_answer(bench, stage):
    (ask,) = remotes("ask_around")
    ask.needs_client = True
    stage.turns.extend([[call("ask_around"), DONE], [*say("ok"), DONE]])

    bench.turn(tools=bring(ask))

    assert "ask_around" not in told(stage)[0]
    assert "nobody can answer; decide yourself" in bench.outputs(stage)["c1"]


def test_a_tool_that_the_provider_runs_is_offered_nowhere_else(bench, stage):
    stage.turns.append([*say("ok"), DONE])

    bench.turn(tools=bring(Hosted))

    assert "moon_search" not in told(stage)[0] + told(stage)[1]


@pytest.mark.parametrize(
    ("count", "is_told"), [(2, True), (40, False)], ids=["a few", "a whole server's"]
)
def test_tools_that_come_late_are_deferred_where_they_are_many(
    bench, stage, monkeypatch, count, is_told
):
    class Patient(Finder):
        def should_defer(self, count, *, is_native):
            return count > 30

    stage.turns.extend([[call("late"), DONE], [*say("ok"), DONE]])

    monkeypatch.setattr(Late, "count", count)
    bench.turn(tools=bring(Patient, Late, *FEW))

    before, after = told(stage, 0)[0], told(stage, 1)[0]
    assert before == after[: len(before)]
    assert "finder" not in before
    new = [f"mcp__late__{number}" for number in range(count)] if is_told else ["finder"]
    assert after[len(before) :] == new


@pytest.mark.parametrize("execution", ["server", None], ids=["server", "unsaid"])
def test_who_runs_a_search_is_what_the_item_says(bench, stage, native, execution):
    item = dict(search("write").item)
    item["execution"] = execution
    if execution is None:
        del item["execution"]
    stage.turns.extend([[ItemDone(item), DONE], [*say("ok"), DONE]][: 1 + (execution is None)])

    bench.turn(tools=bring(Finder, *FEW))

    assert len(stage.requests) == 1 + (execution is None)
