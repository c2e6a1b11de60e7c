"""Codex's items, as its rollouts hold them, in the form that Ferrule shows.

Every function takes one item's fields, which may be anything, and never raises.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Final, cast
from urllib.parse import unquote

from ferrule_import_codex.tables import Table, as_table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_STATUSES: Final = {
    "in_progress": "failed",  # a stored item will make no more progress
    "completed": "completed",
    "failed": "failed",
    "declined": "declined",
}
_SOURCES: Final = {
    "agent": "agent",
    "user_shell": "userShell",
    "unified_exec_startup": "unifiedExecStartup",
    "unified_exec_interaction": "unifiedExecInteraction",
}


def shown_item(item: Mapping[str, object]) -> Table | None:
    """Return an item in the form of the contract; None for one that is not shown here."""
    make = _FORMS.get(text(item.get("type")))
    item_id = item.get("id")
    if make is None or not isinstance(item_id, str):
        return None
    return make(item, item_id)


def text(value: object) -> str:
    """Return a text, or an empty one for anything else."""
    return value if isinstance(value, str) else ""


def tables(value: object) -> list[Table]:
    """Return the tables of a list."""
    items = cast("list[object]", value) if isinstance(value, list) else []
    return [table for item in items if (table := as_table(item)) is not None]


def texts(value: object) -> list[str]:
    """Return the texts of a list."""
    items = cast("list[object]", value) if isinstance(value, list) else []
    return [item for item in items if isinstance(item, str)]


def user_message(item_id: str, message: str) -> Table:
    """Make the item of a user's message."""
    content = [{"type": "text", "text": message}]
    return {"type": "userMessage", "id": item_id, "content": content}


def _user_message(item: Mapping[str, object], item_id: str) -> Table:
    content = [made for part in tables(item.get("content")) if (made := _input(part))]
    return {"type": "userMessage", "id": item_id, "content": content}


def _input(part: Table) -> Table | None:
    match part.get("type"):
        case "text":
            return {"type": "text", "text": text(part.get("text"))}
        case "image":
            url = text(part.get("image_url")) or text(part.get("url"))
            return {"type": "image", "url": url}
        case "local_image":
            return {"type": "localImage", "path": text(part.get("path"))}
        case "skill" | "mention" as kind:
            names = {"name": text(part.get("name")), "path": text(part.get("path"))}
            return {"type": kind, **names}
        case _:
            return None


def _agent_message(item: Mapping[str, object], item_id: str) -> Table:
    said = "".join(text(part.get("text")) for part in tables(item.get("content")))
    made: Table = {"type": "agentMessage", "id": item_id, "text": said}
    if phase := text(item.get("phase")):
        made["phase"] = phase
    return made


def _reasoning(item: Mapping[str, object], item_id: str) -> Table:
    return {
        "type": "reasoning",
        "id": item_id,
        "summary": texts(item.get("summary_text")),
        "content": texts(item.get("raw_content")),
    }


def _plan(item: Mapping[str, object], item_id: str) -> Table:
    return {"type": "plan", "id": item_id, "text": text(item.get("text"))}


def _command(item: Mapping[str, object], item_id: str) -> Table:
    command = item.get("command")
    line = command if isinstance(command, str) else shlex.join(texts(command))
    return {
        "type": "commandExecution",
        "id": item_id,
        "command": line,
        "cwd": _path(item.get("cwd")),
        "commandActions": [_action(action) for action in tables(item.get("parsed_cmd"))],
        "status": _status(item),
        "source": _SOURCES.get(text(item.get("source")), "agent"),
        "processId": text(item.get("process_id")) or None,
        "aggregatedOutput": text(item.get("aggregated_output")),
        "exitCode": _number(item.get("exit_code")),
        "durationMs": _milliseconds(item.get("duration")),
    }


def _action(action: Table) -> Table:
    made: Table = {"type": "unknown", "command": text(action.get("cmd"))}
    match action.get("type"):
        case "read":
            names = {"name": text(action.get("name")), "path": text(action.get("path"))}
            return made | {"type": "read"} | names
        case "list_files":
            return made | {"type": "listFiles", "path": text(action.get("path")) or None}
        case "search":
            found = {"query": text(action.get("query")) or None}
            return made | {"type": "search", "path": text(action.get("path")) or None} | found
        case _:
            return made


def _file_change(item: Mapping[str, object], item_id: str) -> Table:
    changes = as_table(item.get("changes")) or {}
    made = [_change(path, as_table(change) or {}) for path, change in sorted(changes.items())]
    return {"type": "fileChange", "id": item_id, "changes": made, "status": _status(item)}


def _change(path: str, change: Table) -> Table:
    kind: Table = {"type": text(change.get("type"))}
    if kind["type"] not in ("add", "delete"):
        kind = {"type": "update", "move_path": text(change.get("move_path")) or None}
    diff = text(change.get("unified_diff")) or text(change.get("content"))
    return {"path": path, "kind": kind, "diff": diff}


def _mcp_call(item: Mapping[str, object], item_id: str) -> Table:
    result = as_table(item.get("result"))
    made: Table | None = None
    if result is not None:
        content = result.get("content")
        made = {"content": content if isinstance(content, list) else []}
        for name in ("structuredContent", "structured_content"):
            if result.get(name) is not None:
                made["structuredContent"] = result[name]
    error = item.get("error")
    message = text((as_table(error) or {}).get("message")) or text(error)
    return {
        "type": "mcpToolCall",
        "id": item_id,
        "server": text(item.get("server")),
        "tool": text(item.get("tool")),
        "arguments": item.get("arguments"),
        "status": _status(item),
        "result": made,
        "error": {"message": message} if message else None,
        "durationMs": _milliseconds(item.get("duration")),
    }


def _web_search(item: Mapping[str, object], item_id: str) -> Table:
    query, action = text(item.get("query")), as_table(item.get("action"))
    return {"type": "webSearch", "id": item_id, "query": query, "action": action}


def _image_view(item: Mapping[str, object], item_id: str) -> Table:
    return {"type": "imageView", "id": item_id, "path": _path(item.get("path"))}


def _compaction(item: Mapping[str, object], item_id: str) -> Table:
    return {"type": "contextCompaction", "id": item_id}


def _entered_review(item: Mapping[str, object], item_id: str) -> Table:
    hint = text(item.get("user_facing_hint")) or text(item.get("review"))
    return {"type": "enteredReviewMode", "id": item_id, "review": hint}


def _exited_review(item: Mapping[str, object], item_id: str) -> Table:
    output = as_table(item.get("review_output")) or {}
    said = text(output.get("overall_explanation")) or text(item.get("review"))
    return {"type": "exitedReviewMode", "id": item_id, "review": said}


def _hook_prompt(item: Mapping[str, object], item_id: str) -> Table:
    fragments = [
        {"text": text(part.get("text")), "hookRunId": text(part.get("hookRunId"))}
        for part in tables(item.get("fragments"))
    ]
    return {"type": "hookPrompt", "id": item_id, "fragments": fragments}


def _agent_call(item: Mapping[str, object], item_id: str) -> Table:
    states = as_table(item.get("agents_states")) or {}
    return {
        "type": "collabAgentToolCall",
        "id": item_id,
        "tool": text(item.get("tool")),
        "senderThreadId": text(item.get("sender_thread_id")),
        "receiverThreadIds": texts(item.get("receiver_thread_ids")),
        "agentsStates": {name: _agent_state(state) for name, state in states.items()},
        "status": _status(item),
        "prompt": text(item.get("prompt")) or None,
        "model": text(item.get("model")) or None,
    }


def _agent_state(state: object) -> Table:
    table = as_table(state)
    if table is None:
        return {"status": text(state)}
    status, message = next(iter(table.items()), ("", None))
    return {"status": status, "message": text(message) or None}


_FORMS: Final[dict[str, Callable[[Mapping[str, object], str], Table]]] = {
    "UserMessage": _user_message,
    "AgentMessage": _agent_message,
    "Reasoning": _reasoning,
    "Plan": _plan,
    "CommandExecution": _command,
    "FileChange": _file_change,
    "McpToolCall": _mcp_call,
    "WebSearch": _web_search,
    "ImageView": _image_view,
    "ContextCompaction": _compaction,
    "EnteredReviewMode": _entered_review,
    "ExitedReviewMode": _exited_review,
    "HookPrompt": _hook_prompt,
    "CollabAgentToolCall": _agent_call,
}


def _status(item: Mapping[str, object]) -> str:
    return _STATUSES.get(text(item.get("status")), "completed")


def _path(value: object) -> str:
    """Return a path that may be written as a `file://` address."""
    path = text(value)
    return unquote(path.removeprefix("file://")) if path.startswith("file://") else path


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _milliseconds(value: object) -> int | None:
    duration = as_table(value)
    if duration is None:
        return None
    seconds, rest = _number(duration.get("secs")), _number(duration.get("nanos"))
    return (seconds or 0) * 1000 + (rest or 0) // 1_000_000
