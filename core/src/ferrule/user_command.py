"""Runs a command line that the user typed: without a sandbox, and the model reads of it.

It is the user's own act, so that nobody reviews it; what the administrator confines stays confined.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ferrule.attempt import CallContext, escalated
from ferrule.containment import contained
from ferrule.context import message
from ferrule.ids import uuid7
from ferrule.orchestrator import ended_item
from ferrule.turn_settings import check_allowed
from ferrule_hookspecs.errors import ConfigError, FerruleError
from ferrule_hookspecs.tools import ToolResult

if TYPE_CHECKING:
    from ferrule.session_parts import SessionParts
    from ferrule_hookspecs.history import HistoryItem
    from ferrule_hookspecs.tools import Tool, ToolCall


class UserCommand(NamedTuple):
    """A command line, and the tool that runs it."""

    line: str
    tool: Tool
    call: ToolCall


def user_command(parts: SessionParts, line: str, timeout_ms: int | None) -> UserCommand:
    """Find the tool that runs a user's command.

    Raises:
        FerruleError: There is none, or the administrator lets nothing run without the sandbox.
    """
    if not line.strip():
        raise FerruleError("command must not be empty")
    try:
        check_allowed("sandbox_mode", "danger-full-access", parts.allowed)
    except ConfigError as error:
        raise FerruleError(f"a command of your own runs without the sandbox: {error}") from None
    for tool in parts.tools.values():
        call = tool.user_command(line, timeout_ms)
        if call is not None:
            return UserCommand(line, tool, call._replace(call_id=uuid7()))
    raise FerruleError("no tool of this session runs commands; install ferrule-shell")


async def run_user_command(parts: SessionParts, turn_id: str, command: UserCommand) -> HistoryItem:
    """Run it to its end; returns what the model reads of it."""
    call = command.call
    item = command.tool.item(call, parts.settings.cwd)
    if item is not None:
        parts.recorder.item_started(item)
    result = await _result(parts, turn_id, command)
    if item is not None and parts.recorder.is_open(item["id"]):
        status = "completed" if result.success else "failed"
        parts.recorder.item_completed(result.item or ended_item(item, status, result.output))
    text = f"<user_command>\n$ {command.line}\n{result.output}\n</user_command>"
    return message("user", text)


async def _result(parts: SessionParts, turn_id: str, command: UserCommand) -> ToolResult:
    try:
        with contained(command.tool.name):
            context = CallContext(parts, turn_id, escalated(parts))
            return await command.tool.run(command.call, context)
    except FerruleError as error:
        return ToolResult(str(error), success=False)
