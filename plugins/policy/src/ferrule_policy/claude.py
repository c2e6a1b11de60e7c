"""Reads the actions of a Claude Code transcript: one JSON object a line, tool calls in messages."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final, cast

from ferrule_hookspecs.tools import ToolCall
from ferrule_policy.action import Action, Recorded, command_call

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    Table = Mapping[str, object]

_NO: Final = "The user doesn't want to"
_ENTRIES: Final = frozenset({"user", "assistant", "summary", "system", "file-history-snapshot"})


def is_transcript(lines: Iterable[Table]) -> bool:
    """Whether a file's lines are those of a transcript."""
    return any(
        line.get("type") in _ENTRIES and ("message" in line or "sessionId" in line)
        for line in lines
    )


def transcript_actions(name: str, lines: Iterable[Table]) -> Iterator[Action]:
    """Yield the shell commands and the changes of files, with whether a person declined them."""
    actions: dict[str, Action] = {}
    for line in lines:
        message = _table(line.get("message"))
        cwd, model = str(line.get("cwd") or ""), str(message.get("model") or "")
        for part in _parts(message):
            if part.get("type") == "tool_use" and (call := _call(part)):
                turn = str(line.get("uuid") or "")
                actions[call.call_id] = Action(name, turn, call, cwd, model)
            elif part.get("type") == "tool_result" and _is_no(part):
                known = actions.get(call_id := str(part.get("tool_use_id")))
                if known is not None:
                    actions[call_id] = known._replace(recorded=Recorded(answer="declined"))
    yield from actions.values()


def _parts(message: Table) -> list[Table]:
    content = message.get("content")
    return [_table(part) for part in cast("list[object]", content)] if _is_list(content) else []


def _call(part: Table) -> ToolCall | None:
    call_id, given = str(part.get("id") or ""), _table(part.get("input"))
    path = str(given.get("file_path") or "")
    match part.get("name"):
        case "Bash":
            return command_call(call_id, {"cmd": str(given.get("command") or "")})
        case "Write":
            return _patch(call_id, f"*** Add File: {path}", _lines("+", given.get("content")))
        case "Edit":
            return _patch(call_id, f"*** Update File: {path}", _change(given))
        case "MultiEdit":
            edits = given.get("edits")
            tables = (
                [_table(edit) for edit in cast("list[object]", edits)] if _is_list(edits) else []
            )
            changes = [line for edit in tables for line in _change(edit)]
            return _patch(call_id, f"*** Update File: {path}", changes)
        case _:
            return None


def _change(edit: Table) -> list[str]:
    return ["@@", *_lines("-", edit.get("old_string")), *_lines("+", edit.get("new_string"))]


def _lines(sign: str, text: object) -> list[str]:
    return [f"{sign}{line}" for line in str(text or "").splitlines()]


def _patch(call_id: str, head: str, lines: list[str]) -> ToolCall:
    text = "\n".join(["*** Begin Patch", head, *lines, "*** End Patch"])
    return ToolCall(call_id, "apply_patch", MappingProxyType({}), text, "freeform")


def _is_no(part: Table) -> bool:
    """Whether a result is the words for a person's no."""
    content = part.get("content")
    said = content if isinstance(content, str) else ""
    if _is_list(content):
        texts = [_table(each).get("text") for each in cast("list[object]", content)]
        said = "\n".join(text for text in texts if isinstance(text, str))
    return part.get("is_error") is True and said.startswith(_NO)


def _is_list(value: object) -> bool:
    return isinstance(value, list)


def _table(value: object) -> Table:
    return cast("Table", value) if isinstance(value, dict) else {}
