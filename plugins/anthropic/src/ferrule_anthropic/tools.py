"""Tools as the Messages API is told about them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, cast

from ferrule_anthropic.names import wire_name
from ferrule_hookspecs.tools import FunctionSchema

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ferrule_anthropic.content import Block
    from ferrule_hookspecs.tools import FreeformSchema, ToolSchema

_COMBINERS: Final = ("oneOf", "anyOf", "allOf")


def tool_block(schema: ToolSchema) -> Block:
    """Describe a tool."""
    if isinstance(schema, FunctionSchema):
        return _function(schema)
    parameters = {
        "type": "object",
        "properties": {"input": {"type": "string", "description": "The text, as it is."}},
        "required": ["input"],
        "additionalProperties": False,
    }
    return _block(schema.name, _with_format(schema), parameters)


def _function(schema: FunctionSchema) -> Block:
    """Describe a function; what the API refuses at the top of a schema is said in words."""
    combined = {key: schema.parameters[key] for key in _COMBINERS if key in schema.parameters}
    plain = {key: value for key, value in schema.parameters.items() if key not in combined}
    if not combined:
        return _block(schema.name, schema.description, {"type": "object", **plain})
    properties = _properties(combined) | _table(plain.get("properties"))
    words = (
        f"Its arguments must also follow this JSON Schema:\n{json.dumps(combined, default=dict)}"
    )
    parameters = {"type": "object", **plain, "properties": properties}
    return _block(schema.name, f"{schema.description}\n\n{words}", parameters)


def _properties(combined: Mapping[str, object]) -> dict[str, object]:
    """Every property that one of the alternatives names."""
    found: dict[str, object] = {}
    for alternatives in combined.values():
        for each in cast("list[object]", alternatives) if isinstance(alternatives, list) else []:
            found |= _table(_table(each).get("properties"))
    return found


def _table(value: object) -> dict[str, object]:
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}


def _block(name: str, description: str, parameters: Mapping[str, object]) -> Block:
    return {"name": wire_name(name), "description": description, "input_schema": parameters}


def _with_format(schema: FreeformSchema) -> str:
    kind = "this Lark grammar" if schema.syntax == "lark" else "this regular expression"
    return (
        f"{schema.description}\n\nThe tool takes plain text: put all of it into `input`, without"
        f" JSON or a code fence inside. The text follows {kind}:\n\n{schema.definition}"
    )
