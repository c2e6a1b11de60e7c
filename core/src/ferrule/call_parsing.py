"""From what the model sent to a frozen tool call: the only place where arguments are read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, cast

from ferrule.containment import contained
from ferrule.frozen import freeze
from ferrule_hookspecs.errors import ToolArgumentError
from ferrule_hookspecs.tools import FreeformSchema, Tool, ToolCall

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ferrule_hookspecs.history import CallItem, CallOutputItem, ContentPart

_TOO_DEEP: Final = "failed to parse function arguments: they are nested too deeply"


def requested_name(item: CallItem) -> str:
    """The name the model used, with its namespace in front."""
    namespace = item.get("namespace") or ""
    glue = "__" if namespace and not namespace.endswith("__") else ""
    return f"{namespace}{glue}{item['name']}"


def output_item(item: CallItem, output: str | list[ContentPart]) -> CallOutputItem:
    """The history item that answers a call."""
    if item["type"] == "function_call":
        return {"type": "function_call_output", "call_id": item["call_id"], "output": output}
    return {"type": "custom_tool_call_output", "call_id": item["call_id"], "output": output}


def parse_call(item: CallItem, tools: Mapping[str, Tool]) -> ToolCall:
    """Find the tool, check the arguments, fill in defaults, and freeze the result.

    Raises:
        ToolArgumentError: There is no such tool, or its arguments do not fit.
    """
    name = requested_name(item)
    tool = tools.get(name)
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
    with contained(name):
        given = tool.normalize(_json_object(item["arguments"]))
        arguments, text = function_arguments(given)
    return ToolCall(item["call_id"], name, arguments, text, "function")


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
