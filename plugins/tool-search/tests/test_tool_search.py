"""`tool_search`: when tools are deferred, what the model is told, what a search gives."""

import json
from pathlib import Path
from types import SimpleNamespace

import anyio
import pytest

from ferrule_hookspecs.errors import ToolArgumentError
from ferrule_hookspecs.plugins import PluginContext
from ferrule_hookspecs.tool_finding import DeferredTool
from ferrule_hookspecs.tools import FunctionSchema, ToolCall, ToolNamespace
from ferrule_tool_search.tool import ToolSearch

SPACE = ToolNamespace("mcp__demo", "Demo\nserver.")


def deferred(*names, space=SPACE):
    schema = {"type": "object", "properties": {}}
    return [DeferredTool(FunctionSchema(name, f"Does {name}.", schema), space) for name in names]


def finder(tools=(), **table):
    services = SimpleNamespace(deferred_tools=lambda: list(tools))
    return ToolSearch(PluginContext(Path("/nowhere"), {"tools": table}, services=services))


def search(made, query, **arguments):
    given = made.normalize({"query": query, **arguments})
    call = ToolCall("c1", made.name, given, json.dumps(given), "function")
    return anyio.run(made.run, call, None)


@pytest.mark.parametrize(
    ("table", "count", "is_native", "expected"),
    [
        ({}, 21, True, True),
        ({}, 20, True, False),
        ({}, 900, False, False),
        ({"tool_search": {"enabled": True}}, 1, False, True),
        ({"tool_search": True}, 1, False, True),
        ({"tool_search": {}}, 21, True, True),
    ],
    ids=["many", "few", "no own form", "wished for", "wished for in short", "left open"],
)
def test_tools_are_deferred(table, count, is_native, expected):
    assert finder(**table).should_defer(count, is_native=is_native) is expected


def test_the_description_tells_what_can_be_found_and_stays():
    tools = deferred("mcp__demo__echo", "mcp__demo__fail") + deferred("lone", space=None)
    made = finder(tools)

    description = made.schema().description
    tools.clear()

    assert "- mcp__demo (2 tools): Demo server.\n- and 1 on their own" in description
    assert made.schema().description == description


def test_the_schema_is_the_one_that_models_know():
    parameters = finder().schema().parameters

    assert parameters["required"] == ["query"]
    assert {name: each["type"] for name, each in parameters["properties"].items()} == {
        "query": "string",
        "limit": "number",
    }


def test_what_fits_is_named_best_first():
    made = finder(deferred("mcp__demo__fail", "mcp__demo__echo"))

    result = search(made, "echo")

    assert result.found == ("mcp__demo__echo",)
    assert "- mcp__demo__echo: Does mcp__demo__echo." in result.output


def test_nothing_that_fits_is_said_in_words():
    result = search(finder(deferred("mcp__demo__fail")), "zebra")

    assert result.found == ()
    assert "other words" in result.output


@pytest.mark.parametrize(("limit", "count"), [(None, 8), (2, 2), (3.7, 3), (1e9, 50)])
def test_the_limit_bounds_what_is_found(limit, count):
    made = finder(deferred(*(f"mcp__demo__echo_{number}" for number in range(60))))

    found = search(made, "echo", **({} if limit is None else {"limit": limit})).found

    assert len(found) == count


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"query": " "},
        {"query": 1},
        *({"query": "x", "limit": limit} for limit in (0, "all", True, float("nan"))),
    ],
)
def test_wrong_arguments_are_refused(arguments):
    with pytest.raises(ToolArgumentError, match="failed to parse function arguments"):
        finder().normalize(arguments)


def test_tools_that_come_later_are_found():
    tools = deferred("mcp__demo__echo")
    made = finder(tools)
    assert search(made, "later").found == ()

    tools += deferred("mcp__demo__later")

    assert search(made, "later").found == ("mcp__demo__later",)


def test_outside_of_a_session_nothing_can_be_found():
    made = ToolSearch(PluginContext(Path("/nowhere"), {}))

    assert "can be found:" not in made.schema().description
    assert made.item(None, "/") is None
