"""What a tool of a server gave: for the model, and for clients."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, cast

if TYPE_CHECKING:
    from collections.abc import Mapping

    import mcp_types as types

    from ferrule_hookspecs.history import ContentPart
    from ferrule_hookspecs.items import McpToolCallResult

_MODEL_BYTES: Final = 48_000
_CLIENT_BYTES: Final = 1024 * 1024
_BYTES_PER_TOKEN: Final = 4


def wire_result(result: types.CallToolResult) -> McpToolCallResult:
    """The form that clients and rollouts get; what is larger than anybody reads is cut."""
    told = result.model_dump(by_alias=True, mode="json", exclude_none=True)
    content = [_cut_block(block) for block in cast("list[dict[str, object]]", told["content"])]
    shown: McpToolCallResult = {"content": [*content], "structuredContent": None}
    structured = told.get("structuredContent")
    if structured is not None and len(json.dumps(structured)) <= _CLIENT_BYTES:
        shown["structuredContent"] = structured
    return shown


def model_output(
    result: types.CallToolResult, seconds: float, token_limit: int
) -> list[ContentPart]:
    """What the model reads: how long it took, then the structured answer or the parts."""
    limit = min(_MODEL_BYTES, token_limit * _BYTES_PER_TOKEN)
    head: ContentPart = {"type": "input_text", "text": f"Wall time: {seconds:.4f} seconds\nOutput:"}
    if result.structured_content is not None:
        text = json.dumps(result.structured_content, ensure_ascii=False, separators=(",", ":"))
        return [head, _text(cut(text, limit))]
    parts = [head]
    for block in result.content:
        part = _part(block.model_dump(by_alias=True, mode="json", exclude_none=True))
        if part["type"] == "input_text":
            text = cut(part.get("text", ""), max(limit, 0))
            limit -= len(text.encode())
            part = _text(text)
        parts.append(part)
    return parts


def cut(text: str, limit: int) -> str:
    """Leave out the middle of a text that is longer than `limit` bytes, and say so."""
    data = text.encode("utf-8", "replace")
    if len(data) <= limit:
        return text
    head = data[: limit // 2].decode("utf-8", "ignore")
    tail = data[len(data) - limit // 2 :].decode("utf-8", "ignore")
    return f"{head}…{len(data) - limit} bytes left out…{tail}"


def _part(block: Mapping[str, object]) -> ContentPart:
    kind = block.get("type")
    if kind == "text":
        return _text(str(block.get("text") or ""))
    if kind == "image":
        url = f"data:{block.get('mimeType')};base64,{block.get('data')}"
        return {"type": "input_image", "image_url": url}
    if kind == "audio":
        return _text(f"[audio of type {block.get('mimeType')}, which cannot be shown]")
    return _text(json.dumps(block, ensure_ascii=False, separators=(",", ":")))


def _cut_block(block: dict[str, object]) -> dict[str, object]:
    if block.get("type") == "text":
        return {**block, "text": cut(str(block.get("text")), _CLIENT_BYTES)}
    if len(json.dumps(block)) > 16 * _CLIENT_BYTES:
        return {"type": "text", "text": f"[{block.get('type')} left out: it is too large]"}
    return block


def _text(text: str) -> ContentPart:
    return {"type": "input_text", "text": text}
