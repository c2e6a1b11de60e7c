"""How items look in the JSON events of `ferrule exec`: the contract's items in exec's own names.

The names are a format that clients know (`command_execution`, `file_change` …). A tool without an
item type of its own shows as `tool_call`, refused calls included.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    from collections.abc import Callable

    from ferrule_hookspecs.items import ThreadItem
    from ferrule_hookspecs.threads import TokenUsage

Shape = dict[str, Any]


def shape_of(item: ThreadItem) -> Shape | None:
    """Return an item's fields without its id; None for an item that is not shown."""
    make = _SHAPES.get(item["type"])
    return make(cast("Shape", item)) if make else None


def usage_shape(usage: TokenUsage) -> Shape:
    """Return token counts in exec's names."""
    return {
        "input_tokens": usage["inputTokens"],
        "cached_input_tokens": usage["cachedInputTokens"],
        "cache_write_input_tokens": usage["cacheWriteInputTokens"],
        "output_tokens": usage["outputTokens"],
        "reasoning_output_tokens": usage["reasoningOutputTokens"],
    }


def content_text(item: Shape) -> str:
    """Return the text a tool answered with."""
    parts = cast("list[Shape]", item.get("contentItems") or [])
    return "\n".join(part["text"] for part in parts if part["type"] == "inputText")


def _snake(name: str) -> str:
    """Write a name of the wire form as events of exec do."""
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)


def _status(item: Shape) -> str:
    return _snake(item.get("status", "completed"))


def _agent_message(item: Shape) -> Shape | None:
    # A message whose stream broke before its end is completed empty.
    return {"type": "agent_message", "text": item["text"]} if item["text"] else None


def _reasoning(item: Shape) -> Shape | None:
    text = "\n".join(item["summary"])
    return {"type": "reasoning", "text": text} if text.strip() else None


def _command(item: Shape) -> Shape:
    return {
        "type": "command_execution",
        "command": item["command"],
        "aggregated_output": item.get("aggregatedOutput") or "",
        "exit_code": item.get("exitCode"),
        "status": _status(item),
    }


def _file_change(item: Shape) -> Shape:
    changes = [
        {"path": change["path"], "kind": change["kind"]["type"]} for change in item["changes"]
    ]
    changes.sort(key=lambda change: change["path"])
    # Clients know two ends of a patch only; that it was refused is in the tool's answer.
    status = "failed" if item["status"] == "declined" else _status(item)
    return {"type": "file_change", "changes": changes, "status": status}


def _mcp_call(item: Shape) -> Shape:
    result = item.get("result")
    return {
        "type": "mcp_tool_call",
        "server": item["server"],
        "tool": item["tool"],
        "arguments": item["arguments"],
        "result": result
        and {
            "content": result["content"],
            "structured_content": result.get("structuredContent"),
        },
        "error": item.get("error"),
        "status": _status(item),
    }


def _tool_call(item: Shape) -> Shape:
    text = content_text(item)
    has_failed = item["status"] in ("failed", "declined") or item.get("success") is False
    is_done = item["status"] != "inProgress"
    namespace = item.get("namespace")
    return {
        "type": "tool_call",
        **({"namespace": namespace} if namespace else {}),
        "tool": item["tool"],
        "arguments": item["arguments"],
        "result": {"text": text} if is_done and not has_failed else None,
        "error": {"message": text} if has_failed else None,
        "status": _status(item),
    }


def _image_view(item: Shape) -> Shape:
    return {
        "type": "tool_call",
        "tool": "view_image",
        "arguments": {"path": item["path"]},
        "result": None,
        "error": None,
        "status": "completed",
    }


def _collab_call(item: Shape) -> Shape:
    states = cast("dict[str, Shape]", item["agentsStates"])
    return {
        "type": "collab_tool_call",
        "tool": _snake(item["tool"]),
        "sender_thread_id": item["senderThreadId"],
        "receiver_thread_ids": item["receiverThreadIds"],
        "prompt": item.get("prompt"),
        "agents_states": {
            thread: {"status": _snake(state["status"]), "message": state.get("message")}
            for thread, state in states.items()
        },
        "status": _status(item),
    }


def _web_search(item: Shape) -> Shape:
    return {"type": "web_search", "query": item["query"], "action": item.get("action")}


def _compaction(item: Shape) -> Shape:
    error = item.get("error")
    failed: Shape = {"status": "failed", "error": {"message": error or "it was ended"}}
    return {"type": "context_compaction"} | (failed if _status(item) == "failed" else {})


_SHAPES: Final[dict[str, Callable[[Shape], Shape | None]]] = {
    "agentMessage": _agent_message,
    "reasoning": _reasoning,
    "commandExecution": _command,
    "fileChange": _file_change,
    "mcpToolCall": _mcp_call,
    "dynamicToolCall": _tool_call,
    "imageView": _image_view,
    "collabAgentToolCall": _collab_call,
    "webSearch": _web_search,
    "contextCompaction": _compaction,
}
