"""Tools that this API has forms of its own for: its hosted tools, and the search for tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_hookspecs.tools import HostedSchema

if TYPE_CHECKING:
    from ferrule_hookspecs.models import ModelInfo
    from ferrule_hookspecs.tools import SpecialSchema


def special_definition(schema: SpecialSchema, info: ModelInfo | None) -> dict[str, object]:
    """Describe such a tool to a model of which this is known."""
    if isinstance(schema, HostedSchema):
        return {"type": schema.name, **schema.settings, **_content(schema, info)}
    return {
        "type": "tool_search",
        "execution": "client",
        "description": schema.description,
        "parameters": dict(schema.parameters),
    }


def _content(schema: HostedSchema, info: ModelInfo | None) -> dict[str, object]:
    shows_images = schema.name == "web_search" and info is not None and info.searches_images
    return {"search_content_types": ["text", "image"]} if shows_images else {}
