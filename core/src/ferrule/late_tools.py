"""Tools that a plugin offers while the session is open already."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule.catalog import distribution_of
from ferrule.containment import contained
from ferrule_hookspecs.errors import FerruleError
from ferrule_hookspecs.slots import TOOL_GROUP

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ferrule.session_parts import SessionParts
    from ferrule_hookspecs.tools import Tool


def add_tools(parts: SessionParts, tools: Sequence[Tool]) -> Sequence[str]:
    """Put tools behind those of a session; returns the names of those that were added.

    The list never shrinks and never changes its order: what a provider has cached of it stays.
    """
    added: dict[str, Tool] = {}
    for tool in tools:
        taken = tool.name in parts.tools or tool.name in added
        if taken or distribution_of(TOOL_GROUP, tool.name) is not None:
            parts.recorder.warning(f"the tool {tool.name!r} is left out, as the name is taken")
        elif _is_barred(parts, tool.name):
            continue
        elif not _is_switched_off(parts, tool.name) and _is_willing(parts, tool):
            added[tool.name] = tool
    if added:
        parts.tools = {**parts.tools, **added}
    return list(added)


def _is_barred(parts: SessionParts, name: str) -> bool:
    """Whether the thread that this one works for has no such tool, or hides it from this one."""
    return parts.family is not None and not parts.family.may_have(name)


def _is_switched_off(parts: SessionParts, name: str) -> bool:
    value = parts.context.table("tools").get(name)
    return value is False or parts.context.table("tools", name).get("enabled") is False


def _is_willing(parts: SessionParts, tool: Tool) -> bool:
    try:
        with contained(tool.name):
            return tool.is_enabled()
    except FerruleError as error:
        parts.recorder.warning(f"the tool {tool.name!r} cannot be offered: {error}")
        return False
