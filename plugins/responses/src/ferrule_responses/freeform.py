"""Tools that take plain text, as functions with one string, for models that know only functions.

What is known about a model says so; a model of which nothing is known gets such tools as they are.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, cast

from ferrule_hookspecs.tools import FreeformSchema

if TYPE_CHECKING:
    from collections.abc import Collection

    from ferrule_hookspecs.history import HistoryItem
    from ferrule_hookspecs.provider import ModelRequest


def knows_only_functions(request: ModelRequest) -> bool:
    """Whether the model must not be given such tools, nor their calls."""
    return request.model_info is not None and not request.model_info.freeform_tools


def disguised_tools(request: ModelRequest) -> frozenset[str]:
    """Name the tools that the model gets as functions although they take plain text."""
    if not knows_only_functions(request):
        return frozenset()
    return frozenset(tool.name for tool in request.tools if isinstance(tool, FreeformSchema))


def function_definition(schema: FreeformSchema) -> dict[str, object]:
    """Describe such a tool as a function."""
    grammar = f"The text follows this {schema.syntax} grammar:\n\n{schema.definition.strip()}"
    return {
        "type": "function",
        "name": schema.name,
        "description": f"{schema.description}\n\n{grammar}",
        "strict": False,
        "parameters": {
            "type": "object",
            "properties": {"input": {"type": "string", "description": "The text, whole."}},
            "required": ["input"],
            "additionalProperties": False,
        },
    }


def as_function(item: HistoryItem) -> HistoryItem:
    """Write a call of such a tool, or its output, as one of a function; other items as they are."""
    if item["type"] == "custom_tool_call":
        table: dict[str, object] = {**item, "type": "function_call"}
        table["arguments"] = json.dumps({"input": table.pop("input")})
        return cast("HistoryItem", table)
    if item["type"] == "custom_tool_call_output":
        return cast("HistoryItem", {**item, "type": "function_call_output"})
    return item


def as_freeform(item: HistoryItem, names: Collection[str]) -> HistoryItem:
    """Read a call of such a function as the tool wants it; other items stay as they are."""
    if item["type"] != "function_call" or item["name"] not in names:
        return item
    table: dict[str, object] = {**item, "type": "custom_tool_call"}
    table["input"] = _plain(str(table.pop("arguments")))
    return cast("HistoryItem", table)


def _plain(arguments: str) -> str:
    from ferrule_wire.text_protocol import freeform_input

    try:
        return freeform_input(json.loads(arguments, strict=False))
    except (ValueError, RecursionError):
        return arguments  # the tool says what is wrong with it
