"""Names of tools, flat and in namespaces: what a search defines can be called."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ferrule.call_parsing import parse_call
from ferrule.tool_offer import definitions
from ferrule_hookspecs.errors import ToolArgumentError
from ferrule_hookspecs.tools import FunctionSchema, Tool, ToolNamespace

PIECES = st.lists(st.sampled_from(["a", "b", "_", "__", "-"]), min_size=1, max_size=4).map("".join)
LONG = st.integers(60, 90).map(lambda size: "x" * size)
CLASHING = st.sampled_from(["a", "b", "a__a", "a__b", "b__a", "a__a__b", "a__b__a"])
NAMES = CLASHING | PIECES | LONG
SPACES = st.none() | CLASHING | PIECES.filter(lambda name: not name.endswith("_"))
OFFERS = st.lists(st.tuples(NAMES, SPACES), min_size=1, max_size=6, unique_by=lambda each: each[0])


class Named(Tool):
    deferred = True

    def schema(self):
        return FunctionSchema(self.name, "", {"type": "object"})

    async def run(self, call, context):
        raise NotImplementedError


def tools(offers):
    """Make a tool of each name and namespace."""
    made = {}
    for name, space in offers:
        namespace = None if space is None else ToolNamespace(space, "")
        made[name] = type("One", (Named,), {"name": name, "namespace": namespace})(None)
    return made


def called(known, name, namespace=None):
    item = {"type": "function_call", "call_id": "c", "name": name, "arguments": "{}"}
    return parse_call(item if namespace is None else {**item, "namespace": namespace}, known).tool


def places(found):
    """Every namespace and name that definitions hold, in order of the tools."""
    for each in found:
        inner = each["tools"] if each["type"] == "namespace" else [each]
        space = each["name"] if each["type"] == "namespace" else None
        yield from ((space, function["name"]) for function in inner)


@given(OFFERS)
@example([("a", "b"), ("b__a", "b")])
@example([("a__b", "b"), ("a", "b__a"), ("b__a__b", None)])
def test_what_is_defined_is_what_a_call_finds(offers):
    known = tools(offers)

    for name, tool in known.items():
        ((space, short),) = places(definitions([tool], known))
        assert called(known, short, space) == name


@given(OFFERS)
def test_no_two_definitions_look_alike(offers):
    known = tools(offers)

    found = list(places(definitions(list(known.values()), known)))

    assert len(found) == len(set(found)) == len(known)


@given(OFFERS)
def test_a_whole_name_finds_its_tool(offers):
    known = tools(offers)

    assert [called(known, name) for name in known] == list(known)


@pytest.mark.parametrize(
    ("name", "namespace"),
    [
        ("echo", "mcp__demo"),
        ("echo", "mcp__demo__"),
        ("mcp__demo__echo", None),
        ("demo__echo", "mcp"),
        ("mcp__demo__echo", "mcp__demo"),
    ],
)
def test_a_model_may_write_the_name_as_it_likes(name, namespace):
    known = tools([("mcp__demo__echo", "mcp__demo"), ("mcp__other__echo", "mcp__other")])

    assert called(known, name, namespace) == "mcp__demo__echo"


@pytest.mark.parametrize(("name", "namespace"), [("echo", None), ("echo", "mcp__no"), ("", "mcp")])
def test_an_unknown_name_is_refused(name, namespace):
    with pytest.raises(ToolArgumentError, match="unsupported call"):
        called(tools([("mcp__demo__echo", "mcp__demo")]), name, namespace)


def test_a_definition_can_be_written_as_json():
    known = tools([("mcp__demo__echo", "mcp__demo")])

    assert (
        json.loads(json.dumps(definitions(list(known.values()), known)))[0]["name"] == "mcp__demo"
    )
