"""From what the model sent to a frozen tool call: the only place where arguments are read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, cast

from ferrule.containment import contained
from ferrule.frozen import freeze
from ferrule_hookspecs.errors import ToolArgumentError
from ferrule_hookspecs.history import called_name
from ferrule_hookspecs.tool_finding import ToolFinder
from ferrule_hookspecs.tools import FreeformSchema, HostedSchema, Tool, ToolCall

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ferrule_hookspecs.history import (
        AnyCall,
        CallAnswer,
        CallOutputItem,
        FunctionCallItem,
        ToolSearchCallItem,
        ToolSearchOutputItem,
    )

_TOO_DEEP: Final = "failed to parse function arguments: they are nested too deeply"
# More openings than this may be nested deeper than a record can be written.
_NESTING_LIMIT: Final = 200
_SEARCH: Final = "tool_search"


def requested_name(item: AnyCall) -> str:
    """The name the model used, with its namespace in front."""
    return _SEARCH if item["type"] == "tool_search_call" else called_name(item)


def output_item(item: AnyCall, output: CallAnswer) -> CallOutputItem | ToolSearchOutputItem:
    """The history item that answers a call."""
    if isinstance(output, dict):
        return output
    if item["type"] == "tool_search_call":  # its answers have no room for words
        return {
            "type": "tool_search_output",
            "call_id": item["call_id"],
            "status": "completed",
            "execution": "client",
            "tools": [],
        }
    if item["type"] == "function_call":
        return {"type": "function_call_output", "call_id": item["call_id"], "output": output}
    return {"type": "custom_tool_call_output", "call_id": item["call_id"], "output": output}


def parse_call(item: AnyCall, tools: Mapping[str, Tool]) -> ToolCall:
    """Find the tool, check the arguments, fill in defaults, and freeze the result.

    Raises:
        ToolArgumentError: There is no such tool, or its arguments do not fit.
    """
    name = requested_name(item)
    tool = _find(item, name, tools)
    if item["type"] == "custom_tool_call":
        if tool is None or not isinstance(tool.schema(), FreeformSchema):
            raise ToolArgumentError(f"unsupported custom tool call: {name}")
        return ToolCall(
            item["call_id"],
            name,
            cast("Mapping[str, object]", freeze({})),
            item["input"],
            "freeform",
        )
    if tool is None:
        raise ToolArgumentError(f"unsupported call: {name}")
    if isinstance(tool.schema(), HostedSchema):
        raise ToolArgumentError(
            f"unsupported call: {name} is run by the model's provider itself, not by a call"
        )
    with contained(name):
        given = tool.normalize(_given_arguments(item))
        arguments, text = function_arguments(given)
    return ToolCall(item["call_id"], tool.name, arguments, text, "function")


def _find(item: AnyCall, name: str, tools: Mapping[str, Tool]) -> Tool | None:
    """Find a tool by its name, with its namespace or without."""
    if item["type"] == "tool_search_call":
        return next((tool for tool in tools.values() if isinstance(tool, ToolFinder)), None)
    space = item.get("namespace") if item["type"] == "function_call" else None
    if space:
        return _find_inside(space.removesuffix("__"), item["name"], tools)
    if tool := tools.get(name):
        return tool
    spaced = (tool for tool in tools.values() if tool.namespace is not None)
    return next((tool for tool in spaced if "__".join(_place(tool)) == name), None)


def _find_inside(space: str, name: str, tools: Mapping[str, Tool]) -> Tool | None:
    """Find a tool by its namespace and what it is called there: its short name or its whole one."""
    whole = tools.get(f"{space}__{name}")
    if whole is not None and whole.namespace is not None and whole.namespace.name == space:
        return whole
    inside = [tool for tool in tools.values() if _place(tool)[0] == space]
    named = next((tool for tool in inside if name in (short_name(tool), tool.name)), None)
    return named or whole


def _place(tool: Tool) -> tuple[str, str]:
    return ("" if tool.namespace is None else tool.namespace.name, short_name(tool))


def short_name(tool: Tool) -> str:
    """What a tool is called inside of its namespace; its own name where that says nothing of it."""
    if tool.namespace is None:
        return tool.name
    return tool.name.removeprefix(f"{tool.namespace.name}__") or tool.name


def function_arguments(given: Mapping[str, object]) -> tuple[Mapping[str, object], str]:
    """Freeze arguments and write them as the text that says exactly the same.

    Raises:
        ToolArgumentError: They are nested too deeply.
    """
    try:
        text = json.dumps(given, ensure_ascii=False, default=dict)
        return cast("Mapping[str, object]", freeze(given)), text
    except RecursionError:
        raise ToolArgumentError(_TOO_DEEP) from None


def shown_arguments(item: AnyCall) -> object:
    """Return the arguments as JSON, or as the text the model wrote where that is none."""
    if item["type"] == "tool_search_call":
        return item.get("arguments")
    if item["type"] == "custom_tool_call":
        return item["input"]
    text = item["arguments"]
    try:
        return json.loads(text) if text.count("[") + text.count("{") < _NESTING_LIMIT else text
    except ValueError:
        return text


def _given_arguments(item: FunctionCallItem | ToolSearchCallItem) -> Mapping[str, object]:
    if item["type"] == "function_call":
        return _json_object(item["arguments"])
    given = cast("object", item.get("arguments"))
    if isinstance(given, str):  # some servers write it as they write other calls
        return _json_object(given)
    return cast("Mapping[str, object]", given) if isinstance(given, dict) else {}


def _json_object(text: str) -> Mapping[str, object]:
    try:
        value: object = json.loads(text or "{}")
    except json.JSONDecodeError as error:
        raise ToolArgumentError(
            f"failed to parse function arguments: {error.msg} at line {error.lineno}"
            f" column {error.colno}"
        ) from None
    except ValueError as error:  # a number that Python refuses to read
        raise ToolArgumentError(f"failed to parse function arguments: {error}") from None
    except RecursionError:
        raise ToolArgumentError(_TOO_DEEP) from None
    if not isinstance(value, dict):
        raise ToolArgumentError("failed to parse function arguments: expected a JSON object")
    return cast("Mapping[str, object]", value)
