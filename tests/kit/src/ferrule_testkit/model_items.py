"""Short ways to write the items a scripted model answers with."""

from __future__ import annotations

import json
from collections.abc import Mapping

Item = dict[str, object]


def message(text: str, *, id_: str = "msg_1") -> Item:
    """A message of the model."""
    return {
        "type": "message",
        "id": id_,
        "role": "assistant",
        "content": [{"type": "output_text", "text": text}],
    }


def reasoning(*summary: str, id_: str = "rs_1") -> Item:
    """Reasoning with the given summary parts."""
    return {
        "type": "reasoning",
        "id": id_,
        "summary": [{"type": "summary_text", "text": part} for part in summary],
        "encrypted_content": "c2VhbGVk",
    }


def function_call(name: str, arguments: Mapping[str, object], *, call_id: str = "call_1") -> Item:
    """A call of a function."""
    return {
        "type": "function_call",
        "id": f"fc_{call_id}",
        "call_id": call_id,
        "name": name,
        "arguments": json.dumps(arguments),
    }


def freeform_call(name: str, text: str, *, call_id: str = "call_1") -> Item:
    """A call of a freeform tool."""
    return {
        "type": "custom_tool_call",
        "id": f"ctc_{call_id}",
        "call_id": call_id,
        "name": name,
        "input": text,
    }
