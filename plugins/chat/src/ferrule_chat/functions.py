"""Tools as the functions of Chat Completions: names both ways, and tools that take plain text."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from ferrule_hookspecs.history import called_name
from ferrule_hookspecs.tools import FreeformSchema, FunctionSchema

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ferrule_hookspecs.history import CallItem
    from ferrule_hookspecs.tools import ToolSchema

_USABLE: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_UNUSABLE: Final = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST_STEM: Final = 55


class WrittenCall(NamedTuple):
    """A call as a server sent it.

    Attributes:
        call_id: Its id; empty where the server gave none.
        name: The function's name.
        arguments: JSON text, as far as it goes.
        extra: Fields the vendor wants back with the call.
    """

    call_id: str
    name: str
    arguments: str
    extra: Mapping[str, object]


class Functions:
    """The functions of one request."""

    def __init__(self, tools: Sequence[ToolSchema]) -> None:
        """Give every tool a name the API takes."""
        self._tools = tools
        self._names = {function_name(tool.name): tool.name for tool in tools}
        self._freeform = {tool.name for tool in tools if isinstance(tool, FreeformSchema)}

    def definitions(self) -> list[dict[str, object]]:
        """Describe the functions for the request, in the tools' order."""
        return [{"type": "function", "function": _definition(tool)} for tool in self._tools]

    def call_item(self, call: WrittenCall) -> CallItem:
        """Turn a call into the item the kernel runs."""
        name = self._names.get(call.name, call.name)
        call_id = call.call_id or _new_id()
        item: dict[str, object]
        if name in self._freeform:
            item = {"type": "custom_tool_call", "call_id": call_id, "name": name}
            item["input"] = _plain_input(call.arguments)
        else:
            item = {"type": "function_call", "call_id": call_id, "name": name}
            item["arguments"] = call.arguments or "{}"
        return cast("CallItem", {**item, **call.extra})


def function_name(name: str) -> str:
    """Make a name the API takes; two tools never get the same one."""
    if _USABLE.fullmatch(name):
        return name
    from zlib import crc32

    stem = _UNUSABLE.sub("_", name)[:_LONGEST_STEM]
    return f"{stem}_{crc32(name.encode('utf-8', 'replace')):08x}"


def called_function(item: CallItem) -> dict[str, str]:
    """Write a call of the history as a call of a function."""
    name = function_name(called_name(item))
    if item["type"] == "custom_tool_call":
        return {"name": name, "arguments": json.dumps({"input": item["input"]})}
    return {"name": name, "arguments": _whole_json(item["arguments"])}


def _whole_json(arguments: str) -> str:
    """Keep strict servers content: they parse what the model once wrote, broken or not."""
    try:
        value: object = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        value = None
    return (arguments or "{}") if isinstance(value, dict) else json.dumps({"input": arguments})


def _definition(tool: ToolSchema) -> dict[str, object]:
    name = function_name(tool.name)
    if isinstance(tool, FunctionSchema):
        return {
            "name": name,
            "description": tool.description,
            "parameters": dict(tool.parameters),
        }
    description = (
        f"{tool.description}\n\n`input` is plain text that follows this {tool.syntax} grammar:"
        f"\n\n{tool.definition.strip()}"
    )
    text = {"type": "string", "description": "The whole input, exactly as the grammar wants it."}
    parameters = {
        "type": "object",
        "properties": {"input": text},
        "required": ["input"],
        "additionalProperties": False,
    }
    return {"name": name, "description": description, "parameters": parameters}


def _new_id() -> str:
    from ferrule_wire.text_protocol import new_call_id  # few answers need it

    return new_call_id()


def _plain_input(arguments: str) -> str:
    from ferrule_wire.text_protocol import freeform_input

    try:
        return freeform_input(json.loads(arguments, strict=False))
    except (ValueError, RecursionError):
        return arguments  # the tool says what is wrong with it
