"""The request: Ferrule's history and tools, written the way Chat Completions wants them.

Reasoning is left out: there is no agreed field for it, and gateways refuse what they do not know.
"""

import json
from collections.abc import Sequence
from typing import Any

from ferrule_hookspecs.history import CallItem, ContentPart, HistoryItem, called_name
from ferrule_hookspecs.provider import ModelRequest
from ferrule_hookspecs.tools import FunctionSchema, ToolSchema

Message = dict[str, Any]


def body(request: ModelRequest) -> dict[str, object]:
    """Write a request; the same history gives the same beginning, so that it can be cached."""
    written: dict[str, object] = {"model": request.model, "messages": messages(request.input)}
    if request.tools:
        written["tools"] = [_definition(tool) for tool in request.tools]
        written["parallel_tool_calls"] = request.parallel_tool_calls
    if request.reasoning_effort:
        written["reasoning_effort"] = request.reasoning_effort
    if request.output_schema is not None:
        form = {"name": "answer", "strict": True, "schema": request.output_schema}
        written["response_format"] = {"type": "json_schema", "json_schema": form}
    return written | {"stream": True, "stream_options": {"include_usage": True}}


def messages(history: Sequence[HistoryItem]) -> list[Message]:
    """Write a history; what the model said and called in one go is one message."""
    written: list[Message] = []
    for item in history:
        if item["type"] == "message":
            if item["role"] == "assistant":
                _assistant(written)["content"] += _text(item["content"])
            else:
                role = "system" if item["role"] == "developer" else item["role"]
                written.append({"role": role, "content": _parts(item["content"])})
        elif item["type"] == "function_call" or item["type"] == "custom_tool_call":
            _assistant(written).setdefault("tool_calls", []).append(_call(item))
        elif item["type"] == "function_call_output" or item["type"] == "custom_tool_call_output":
            output = item["output"]
            text = output if isinstance(output, str) else _text(output)
            written.append({"role": "tool", "tool_call_id": item["call_id"], "content": text})
    return written


def _assistant(written: list[Message]) -> Message:
    if not written or written[-1]["role"] != "assistant":
        written.append({"role": "assistant", "content": ""})
    return written[-1]


def _text(parts: Sequence[ContentPart]) -> str:
    return "".join(part.get("text") or part.get("refusal") or "" for part in parts)


def _parts(parts: Sequence[ContentPart]) -> str | list[Message]:
    """Write content: plain text, or a list where there are images."""
    if all(part["type"] != "input_image" for part in parts):
        return _text(parts)
    return [
        {"type": "image_url", "image_url": {"url": part.get("image_url", "")}}
        if part["type"] == "input_image"
        else {"type": "text", "text": part.get("text", "")}
        for part in parts
    ]


def _call(item: CallItem) -> Message:
    if item["type"] == "function_call":
        arguments = item["arguments"]
    else:
        arguments = json.dumps({"input": item["input"]})
    function = {"name": called_name(item), "arguments": arguments}
    return {"id": item["call_id"], "type": "function", "function": function}


def _definition(tool: ToolSchema) -> Message:
    """Describe a tool; one that takes plain text becomes a function with one argument."""
    if isinstance(tool, FunctionSchema):
        description, parameters = tool.description, tool.parameters
    else:
        # The grammar cannot be enforced here, so the model is told.
        description = f"{tool.description}\n\nGrammar of the input ({tool.syntax}):\n"
        description += tool.definition
        properties = {"input": {"type": "string"}}
        parameters = {"type": "object", "properties": properties, "required": ["input"]}
    function = {"name": tool.name, "description": description, "parameters": parameters}
    return {"type": "function", "function": function}
