"""Tools that this API has forms of its own for: its hosted tools, and the search for tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_hookspecs.tools import HostedSchema

if TYPE_CHECKING:
    from ferrule_hookspecs.tools import SpecialSchema


def special_definition(schema: SpecialSchema) -> dict[str, object]:
    """Describe such a tool."""
    if isinstance(schema, HostedSchema):
        return {"type": schema.name, **schema.settings}
    return {
        "type": "tool_search",
        "execution": "client",
        "description": schema.description,
        "parameters": dict(schema.parameters),
    }
