"""The tools that clients are offered, and the names by which older clients call them."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from ferrule_hookspecs.policies import APPROVAL_MODES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_types import Tool

START: Final = "codex"
REPLY: Final = "codex-reply"
INTERRUPT: Final = "codex-interrupt"
LIST: Final = "codex-list"
ALIASES: Final[Mapping[str, str]] = MappingProxyType(
    {"codex_tool_call": START, "codex_tool_call_reply": REPLY}
)

_TEXT: Final = "string"
_ANSWER: Final[Mapping[str, object]] = {
    "type": "object",
    "properties": {"threadId": {"type": _TEXT}, "content": {"type": _TEXT}},
    "required": ["threadId", "content"],
}


def _text(description: str, values: tuple[str, ...] = ()) -> dict[str, object]:
    listed: dict[str, object] = {"enum": list(values)} if values else {}
    return {"type": _TEXT, "description": description, **listed}


_THREAD: Final = _text("Id of the thread, as `codex` has returned it.")

INPUTS: Final[Mapping[str, Mapping[str, object]]] = MappingProxyType(
    {
        START: {
            "type": "object",
            "properties": {
                "prompt": _text("What is to be done; the first message of a new thread."),
                "model": _text("The model, where it is not the configured one."),
                "cwd": _text(
                    "Folder to work in; one that is relative counts from the server's own."
                ),
                "sandbox": _text(
                    "How commands are confined.",
                    ("read-only", "workspace-write", "danger-full-access"),
                ),
                "approval-policy": _text("When somebody is asked before it runs.", APPROVAL_MODES),
                "config": {
                    "type": "object",
                    "description": "Settings for this thread; they stand above config.toml.",
                    "additionalProperties": True,
                },
                "base-instructions": _text("Instructions that replace the built-in ones."),
                "developer-instructions": _text("Instructions put behind the built-in ones."),
                "compact-prompt": _text("How the model is asked to sum up a long conversation."),
            },
            "required": ["prompt"],
            "additionalProperties": False,
        },
        REPLY: {
            "type": "object",
            "properties": {
                "prompt": _text("The next message."),
                "threadId": _THREAD,
                "conversationId": _text("Former name of `threadId`."),
            },
            "required": ["prompt"],
        },
        INTERRUPT: {
            "type": "object",
            "properties": {"threadId": _THREAD},
            "required": ["threadId"],
            "additionalProperties": False,
        },
        LIST: {
            "type": "object",
            "properties": {
                "limit": {
                    "type": "integer",
                    "description": "How many threads at most, the newest first; 20 otherwise.",
                    "minimum": 1,
                    "maximum": 200,
                }
            },
            "additionalProperties": False,
        },
    }
)
_OUTPUTS: Final[Mapping[str, Mapping[str, object]]] = {
    START: _ANSWER,
    REPLY: _ANSWER,
    INTERRUPT: _ANSWER,
    LIST: {
        "type": "object",
        "properties": {
            "threads": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "threadId": {"type": _TEXT},
                        "status": {"type": _TEXT, "enum": ["running", "idle", "stored"]},
                        "cwd": {"type": _TEXT},
                        "preview": {"type": _TEXT},
                        "name": {"type": [_TEXT, "null"]},
                        "updatedAt": {"type": "integer"},
                    },
                    "required": ["threadId", "status", "cwd", "preview", "updatedAt"],
                },
            }
        },
        "required": ["threads"],
    },
}
_ABOUT: Final[Mapping[str, tuple[str, str]]] = {
    START: (
        "Codex",
        (
            "Have a coding agent work on a task in a folder of this machine: it reads and edits "
            "files and runs commands, confined to a sandbox. Returns its last message and the id "
            "of the thread, by which `codex-reply` goes on."
        ),
    ),
    REPLY: (
        "Codex reply",
        "Go on with a thread of the coding agent, which remembers what was said and done before.",
    ),
    INTERRUPT: (
        "Codex interrupt",
        "Stop what a thread of the coding agent is doing; it can be gone on with afterwards.",
    ),
    LIST: ("Codex list", "List threads of the coding agent that can be gone on with."),
}


def tools() -> list[Tool]:
    """Return what `tools/list` answers."""
    from mcp_types import Tool, ToolAnnotations

    return [
        Tool(
            name=name,
            title=title,
            description=description,
            input_schema=dict(INPUTS[name]),
            output_schema=dict(_OUTPUTS[name]),
            annotations=ToolAnnotations(read_only_hint=True) if name == LIST else None,
        )
        for name, (title, description) in _ABOUT.items()
    ]
