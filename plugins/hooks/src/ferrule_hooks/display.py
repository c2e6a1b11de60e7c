"""How hooks are shown to clients: their order, the names of their events and of who wrote them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from ferrule_hooks.sources import ELSEWHERE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from ferrule_hooks.handler import Handler, Standing

HandlerType = Literal["command", "mcpTool", "prompt", "agent"]
SourceName = Literal["system", "user", "project", "sessionFlags"]

_ORDER: Final = (
    *("PreModelRequest", "PostModelRequest", "PreToolUse", "PermissionRequest", "PostToolUse"),
    *("PreCompact", "PostCompact", "SessionStart", "SessionEnd", "UserPromptSubmit"),
    *("SubagentStart", "SubagentStop", "Stop", "Interrupt"),
)
"""The events that the protocol has a name for, in its order."""
_SOURCES: Final[Mapping[Standing, SourceName]] = {
    "administrator": "system",
    "user": "user",
    "project": "project",
}


def is_shown(handler: Handler) -> bool:
    """Whether clients have a name for its event."""
    return handler.event in _ORDER


def in_order(handlers: Sequence[Handler]) -> list[Handler]:
    """Return the hooks that are shown: by file, and within it by event."""
    files = list(dict.fromkeys(handler.source for handler in handlers))
    shown = filter(is_shown, handlers)
    return sorted(shown, key=lambda each: (files.index(each.source), _ORDER.index(each.event)))


def event_name(handler: Handler) -> str:
    """Name its event as clients do."""
    return handler.event[0].lower() + handler.event[1:]


def handler_type(handler: Handler) -> HandlerType:
    """Name what runs; requests and functions stand in the place of commands."""
    if handler.kind in ("prompt", "agent"):
        return handler.kind
    return "mcpTool" if handler.kind == "mcp_tool" else "command"


def source_name(handler: Handler) -> SourceName:
    """Name who wrote it."""
    source = handler.source
    return "sessionFlags" if source.file == ELSEWHERE else _SOURCES[source.standing]


def source_path(handler: Handler, home: Path) -> str:
    """Name a file for it, where it has none of its own."""
    file = handler.source.file
    return str(home / "config.toml") if file == ELSEWHERE else file
