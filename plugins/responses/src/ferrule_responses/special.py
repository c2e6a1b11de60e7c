"""Tools that this API has forms of its own for: its hosted tools, and the search for tools."""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from ferrule_hookspecs.errors import ProviderError
from ferrule_hookspecs.tools import HostedSchema

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ferrule_hookspecs.models import ModelInfo
    from ferrule_hookspecs.tools import SpecialSchema

_REFUSALS: Final = (HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY)
_ABOUT_TOOLS: Final = re.compile(r"tools?\b.{0,40}\btype|type\b.{0,40}\btools?\b|_search", re.I)
_MENDS: Final = {
    "web_search": 'web_search = "disabled"',
    "tool_search": "tools.tool_search = false",
}


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


def explained(error: ProviderError, tools: Sequence[SpecialSchema]) -> ProviderError:
    """Say how to do without a special tool that the server seems to refuse; else as it was."""
    text = f"{error} {error.details or ''}"
    if not tools or error.status not in _REFUSALS or not _ABOUT_TOOLS.search(text):
        return error
    mends = " and ".join(f"`{_MENDS.get(tool.name, tool.name)}`" for tool in tools)
    return ProviderError(
        f"{error}; if this server does not know the tools of the newest API, set {mends}",
        retryable=error.retryable,
        retry_after_s=error.retry_after_s,
        kind=error.kind,
        status=error.status,
        max_retries=error.max_retries,
        details=error.details,
    )


def _content(schema: HostedSchema, info: ModelInfo | None) -> dict[str, object]:
    shows_images = schema.name == "web_search" and info is not None and info.searches_images
    return {"search_content_types": ["text", "image"]} if shows_images else {}
