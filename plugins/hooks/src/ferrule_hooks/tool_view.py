"""Calls of tools as hooks see them, and the way back from a changed input to a call."""

from __future__ import annotations

import json
import os
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from ferrule_hookspecs.errors import FerruleError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ferrule_hookspecs.tools import ToolCall, ToolResult

_COMMANDS: Final = "exec_command"
_PATCHES: Final = "apply_patch"
_TYPING: Final = "write_stdin"
_ALIASES: Final = {_COMMANDS: ("Bash",), _PATCHES: (_PATCHES, "Edit", "Write")}


class UpdateError(FerruleError):
    """A hook wants an input that the tool does not take."""


def tool_names(call: ToolCall) -> tuple[str, ...]:
    """Return the names that matchers may use; the first is what hooks are told.

    What is typed into a running shell is a command, too, which guards of commands must see.
    """
    if call.tool == _TYPING and call.arguments.get("chars"):
        return (_TYPING, "Bash")
    return _ALIASES.get(call.tool, (call.tool,))


def tool_input(call: ToolCall, cwd: str) -> dict[str, object]:
    """Return the input of a call."""
    arguments = _plain(call.arguments)
    if call.tool == _COMMANDS:
        shown: dict[str, object] = {
            "command": arguments.get("cmd", ""),
            "cwd": os.path.normpath(os.path.join(cwd, str(arguments.get("workdir") or ""))),
            "escalated": arguments.get("sandbox_permissions") == "require_escalated",
        }
        if "justification" in arguments:
            shown["description"] = arguments["justification"]
        return shown
    if call.tool == _TYPING:
        return {
            "command": arguments.get("chars", ""),
            "session_id": arguments.get("session_id"),
        }
    if call.tool == _PATCHES:
        patch = arguments.get("input", "") if call.form == "function" else call.text
        return {"command": patch}
    return {"input": call.text} if call.form == "freeform" else arguments


def changed_call(call: ToolCall, updated: Mapping[str, object], cwd: str) -> ToolCall:
    """Return the call with a hook's input.

    Raises:
        UpdateError: The tool does not take it.
    """
    shown = tool_input(call, cwd)
    changes = {key: value for key, value in updated.items() if shown.get(key) != value}
    if call.tool == _COMMANDS:
        changes.pop("description", None)
        names = {"command": "cmd", "cwd": "workdir"}
        if unknown := changes.keys() - names.keys():
            raise UpdateError(f"it may change command and cwd of a command, not {_list(unknown)}")
        return _with(call, {names[key]: value for key, value in changes.items()})
    if call.tool == _TYPING:
        if unknown := changes.keys() - {"command"}:
            raise UpdateError(f"it may change command of {_TYPING}, not {_list(unknown)}")
        return _with(call, {"chars": changes["command"]} if changes else {})
    if call.tool == _PATCHES or call.form == "freeform":
        key = "command" if call.tool == _PATCHES else "input"
        text = updated.get(key)
        if changes.keys() - {key} or not isinstance(text, str):
            raise UpdateError(f"it may change {key} of {call.tool}, and nothing else")
        return _with(call, {"input": text}) if call.form == "function" else call._replace(text=text)
    return _with(call, changes)


def _with(call: ToolCall, changes: Mapping[str, object]) -> ToolCall:
    """Put other values into arguments that were checked; each must stay what it is."""
    arguments = _plain(call.arguments)
    for key, value in changes.items():
        before = arguments.get(key, "" if key == "workdir" else None)
        if before is None or type(before) is not type(value):
            raise UpdateError(f"{call.tool} takes no {key!r} of the type {type(value).__name__}")
        arguments[key] = value
    text = json.dumps(arguments, ensure_ascii=False)
    return call._replace(arguments=MappingProxyType(arguments), text=text)


def same_call(one: ToolCall, other: ToolCall) -> bool:
    """Tell whether two calls run the same."""
    if (one.tool, one.form) != (other.tool, other.form):
        return False
    if one.form == "freeform":
        return one.text == other.text
    return _plain(one.arguments) == _plain(other.arguments)


def tool_response(result: ToolResult) -> object:
    """Return what a call gave; of a command its whole output."""
    item = result.item
    if item is not None and item["type"] == "commandExecution":
        output = item.get("aggregatedOutput")
        return result.output if output is None else output
    return result.output


def exit_code(result: ToolResult) -> int | None:
    """Return the exit code of a command that has ended."""
    item = result.item
    if item is not None and item["type"] == "commandExecution":
        return item.get("exitCode")
    return None


def _plain(arguments: Mapping[str, object]) -> dict[str, object]:
    return json.loads(json.dumps(dict(arguments), default=dict))


def _list(names: set[str]) -> str:
    return ", ".join(sorted(names))
