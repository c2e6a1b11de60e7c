"""Items as `codex/event` shows them: the older spelling, and the older pair of events of each."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ferrule_hookspecs.items import FileUpdateChange, ThreadItem

Event = dict[str, object]

_STATUSES: Final[Mapping[str, str]] = {"inProgress": "in_progress"}
_SILENT: Final[Mapping[str, str]] = {"stdout": "", "stderr": ""}
_ACTIONS: Final[Mapping[str, str]] = {"listFiles": "list_files"}
_SOURCES: Final[Mapping[str, str]] = {
    "userShell": "user_shell",
    "unifiedExecStartup": "unified_exec_startup",
    "unifiedExecInteraction": "unified_exec_interaction",
}


def command_facts(params: Mapping[str, Any]) -> Event:
    """Describe a command: its words, its folder and what it does."""
    try:
        words = shlex.split(params.get("command") or "")
    except ValueError:  # quotes that do not match: shown as one word
        words = [params["command"]]
    actions = [
        {
            **{"cmd" if key == "command" else key: value for key, value in action.items()},
            "type": _ACTIONS.get(action["type"], action["type"]),
        }
        for action in params.get("commandActions") or ()
    ]
    return {"command": words, "cwd": params.get("cwd") or "", "parsed_cmd": actions}


def changes_of(changes: Sequence[FileUpdateChange]) -> Event:
    """Show a patch by the paths of its files."""
    shown: Event = {}
    for change in changes:
        kind = change["kind"]
        if kind["type"] == "update":
            shown[change["path"]] = {
                "type": "update",
                "unified_diff": change["diff"],
                "move_path": kind.get("move_path"),
            }
        else:
            shown[change["path"]] = {"type": kind["type"], "content": change["diff"]}
    return shown


def began(item: ThreadItem) -> tuple[Event | None, list[Event]]:
    """Return an item that starts in the older spelling, and the older events of its start."""
    item_, call = cast("dict[str, Any]", item), {"call_id": item["id"]}
    match item["type"]:
        case "commandExecution":
            facts = _command(item_)
            return {"type": "CommandExecution", **facts, "id": item["id"]}, [
                {"type": "exec_command_begin", **call, **_without(facts, "status")}
            ]
        case "fileChange":
            shown = {"changes": changes_of(item["changes"]), "auto_approved": True}
            return {"type": "FileChange", "id": item["id"], **shown}, [
                {"type": "patch_apply_begin", **call, **shown}
            ]
        case "mcpToolCall":
            return None, [
                {"type": "mcp_tool_call_begin", **call, "invocation": _invocation(item_)},
            ]
        case "webSearch":
            return None, [{"type": "web_search_begin", **call}]
        case "agentMessage":
            empty: list[object] = [{"type": "Text", "text": ""}]
            return {"type": "AgentMessage", "id": item["id"], "content": empty}, []
        case "userMessage":
            return _user(item_), []
        case _:
            return None, []


def ended(item: ThreadItem) -> tuple[Event | None, list[Event]]:
    """Return an item that is final in the older spelling, and the older events of its end."""
    item_, call = cast("dict[str, Any]", item), {"call_id": item["id"]}
    match item["type"]:
        case "commandExecution":
            facts = _command(item_) | _output(item_)
            return {"type": "CommandExecution", **facts, "id": item["id"]}, [
                {"type": "exec_command_end", **call, **facts}
            ]
        case "fileChange":
            status = _status(item_)
            shown: Event = {"changes": changes_of(item["changes"]), "status": status, **_SILENT}
            return {"type": "FileChange", "id": item["id"], **shown}, [
                {
                    "type": "patch_apply_end",
                    **call,
                    "success": status == "completed",
                    **shown,
                }
            ]
        case "mcpToolCall":
            return None, [{"type": "mcp_tool_call_end", **call, **_mcp_result(item_)}]
        case "webSearch":
            action = item.get("action")
            return None, [
                {"type": "web_search_end", **call, "query": item["query"], "action": action}
            ]
        case "agentMessage":
            text = item["text"]
            content: list[object] = [{"type": "Text", "text": text}]
            return {"type": "AgentMessage", "id": item["id"], "content": content}, [
                {
                    "type": "agent_message",
                    "message": text,
                    "phase": item.get("phase"),
                    "memory_citation": None,
                }
            ]
        case "reasoning":
            return None, [{"type": "agent_reasoning", "text": text} for text in item["summary"]]
        case "userMessage":
            return _user(item_), [_user_message(item_)]
        case "contextCompaction" if item_.get("status") != "failed":
            return None, [{"type": "context_compacted"}]
        case _:
            return None, []


def _user(item: Mapping[str, Any]) -> Event:
    content = [{"text_elements": [], **part} for part in item["content"]]
    return {"type": "UserMessage", "id": item["id"], "content": content}


def _user_message(item: Mapping[str, Any]) -> Event:
    parts = item["content"]
    return {
        "type": "user_message",
        "message": "\n".join(part["text"] for part in parts if part["type"] == "text"),
        "images": [part["url"] for part in parts if part["type"] == "image"],
        "local_images": [part["path"] for part in parts if part["type"] == "localImage"],
        "audio": [],
        "local_audio": [],
        "text_elements": [],
    }


def _command(item: Mapping[str, Any]) -> Event:
    return {
        "process_id": item.get("processId"),
        **command_facts(item),
        "source": _SOURCES.get(item.get("source") or "agent", "agent"),
        "status": _status(item),
    }


def _output(item: Mapping[str, Any]) -> Event:
    output = item.get("aggregatedOutput") or ""
    code = item.get("exitCode")
    return {
        "stdout": output,
        "stderr": "",
        "aggregated_output": output,
        "formatted_output": output,
        "exit_code": -1 if code is None else code,
        "duration": _duration(item),
    }


def _mcp_result(item: Mapping[str, Any]) -> Event:
    error, result = item.get("error"), item.get("result")
    shown = {"Err": error["message"]} if error else {"Ok": result or {"content": []}}
    return {"invocation": _invocation(item), "duration": _duration(item), "result": shown}


def _invocation(item: Mapping[str, Any]) -> Event:
    return {"server": item["server"], "tool": item["tool"], "arguments": item["arguments"]}


def _duration(item: Mapping[str, Any]) -> Event:
    milliseconds = item.get("durationMs") or 0
    return {"secs": milliseconds // 1000, "nanos": milliseconds % 1000 * 1_000_000}


def _status(item: Mapping[str, Any]) -> str:
    status: str = item["status"]
    return _STATUSES.get(status, status)


def _without(facts: Event, name: str) -> Event:
    return {key: value for key, value in facts.items() if key != name}
