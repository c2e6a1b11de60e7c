"""Requests of servers to the model: calls of a tool that no model is offered.

So they go the way of every call: hooks and policies judge them, a reviewer sees which server asks
what, and they are shown and recorded.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, ClassVar, Final, cast

from ferrule_hookspecs.errors import FerruleError, ToolError
from ferrule_hookspecs.tools import (
    FunctionSchema,
    Requirement,
    Tool,
    ToolCall,
    ToolContext,
    ToolResult,
)
from ferrule_mcp.tool_names import tool_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import mcp_types as types

    from ferrule_hookspecs.history import ContentPart, MessageItem
    from ferrule_hookspecs.items import McpToolCallItem
    from ferrule_hookspecs.plugins import PluginContext
    from ferrule_hookspecs.tools import SandboxSession
    from ferrule_mcp.questions import Callers

METHOD: Final = "sampling/createMessage"
_REFUSED: Final = -1
_SHOWN: Final = 300
_PATIENCE_S: Final = 300.0
_BYTES_PER_TOKEN: Final = 4


class SamplingTool(Tool):
    """Asks the session's model what one server wants to know."""

    description = "Asks the model in the place of an MCP server."
    internal: ClassVar[bool] = True
    parallel: ClassVar[bool] = True
    server: ClassVar[str] = ""

    def schema(self) -> FunctionSchema:
        """Never shown to a model."""
        return FunctionSchema(self.name, self.description, {"type": "object", "properties": {}})

    def item(self, call: ToolCall, cwd: str) -> McpToolCallItem:
        """How the request is shown."""
        return {
            "type": "mcpToolCall",
            "id": call.call_id,
            "server": self.server,
            "tool": METHOD,
            "arguments": json.loads(call.text),
            "status": "inProgress",
            "result": None,
            "error": None,
            "durationMs": None,
        }

    def requirement(self, call: ToolCall, sandbox: SandboxSession) -> Requirement:
        """Somebody must agree, whatever the modes of the server's tools."""
        asked = json.loads(call.text)
        text = " / ".join(_texts(asked))
        shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
        reason = f"Allow the {self.server} MCP server to ask the model: {shown!r}?"
        details = {
            "tool_name": METHOD,
            "tool_description": f"A request of the MCP server {self.server!r} to the model.",
            "annotations": {},
        }
        return Requirement("approval", reason, details=details)

    async def run(self, call: ToolCall, context: ToolContext) -> ToolResult:
        """Ask; the answer is the server's to read, not the model's."""
        from ferrule_consult.exchange import answer_of
        from ferrule_hookspecs.provider import ModelRequest

        services = self.context.services
        if services is None:
            raise ToolError("there is no model outside of a session")
        started, asked, model = time.monotonic(), json.loads(call.text), services.facts.model
        request = ModelRequest(
            thread_id=f"mcp:{context.thread_id}",
            turn_id=context.turn_id,
            model=model,
            input=_history(asked),
            tools=(),
            kind="review",
            parallel_tool_calls=False,
        )
        answer = await answer_of(services.provider(), request, _PATIENCE_S)
        text, is_whole = _bounded(answer.text, int(asked["maxTokens"]))
        item = self.item(call, context.cwd)
        item["status"] = "completed"
        item["durationMs"] = int((time.monotonic() - started) * 1000)
        item["result"] = {
            "content": [{"type": "text", "text": text}],
            "structuredContent": {
                "model": model,
                "stopReason": "endTurn" if is_whole else "maxTokens",
                "usage": answer.usage,
            },
        }
        return ToolResult(text, item=item)


def sampling_tool(context: PluginContext, server: str) -> SamplingTool:
    """Make the tool of one server."""
    attributes = {"__doc__": SamplingTool.__doc__, "name": _name(server), "server": server}
    return cast("SamplingTool", type("SamplingTool", (SamplingTool,), attributes)(context))


async def sample(
    server: str,
    callers: Callers,
    params: types.CreateMessageRequestParams,
    tell: Callable[[str], None],
) -> types.CreateMessageResult | types.ErrorData:
    """Answer a server's request; `tell` is told why where it is refused unseen."""
    import mcp_types

    caller = callers.only()
    if isinstance(caller, str) or caller.services is None:
        why = caller if isinstance(caller, str) else "it is called outside of a turn"
        tell(f"the MCP server {server!r} wanted to ask the model, which is refused: {why}")
        return mcp_types.ErrorData(code=_REFUSED, message=f"refused: {why}")
    asked = params.model_dump(by_alias=True, mode="json", exclude_none=True)
    asked.pop("_meta", None)
    result = None
    with caller.asking():
        try:
            result = await caller.services.call_tool(
                _name(server), asked, call_id=caller.next_id(), turn_id=caller.turn_id or ""
            )
        except FerruleError as error:
            return mcp_types.ErrorData(code=_REFUSED, message=str(error))
    if result is None:
        return mcp_types.ErrorData(code=_REFUSED, message="refused: the call has ended")
    if not result.success or result.item is None:
        return mcp_types.ErrorData(code=_REFUSED, message=f"refused: {result.output}")
    item = cast("McpToolCallItem", result.item)
    facts = cast("Mapping[str, object]", (item.get("result") or {}).get("structuredContent") or {})
    return mcp_types.CreateMessageResult.model_validate(
        {
            "role": "assistant",
            "content": {"type": "text", "text": str(result.output)},
            "model": facts["model"],
            "stopReason": facts["stopReason"],
        }
    )


def _name(server: str) -> str:
    return tool_name(server, METHOD)


def _history(asked: Mapping[str, object]) -> Sequence[MessageItem]:
    items: list[MessageItem] = []
    if prompt := asked.get("systemPrompt"):
        part: ContentPart = {"type": "input_text", "text": str(prompt)}
        items.append({"type": "message", "role": "developer", "content": [part]})
    for message in cast("Sequence[Mapping[str, object]]", asked["messages"]):
        is_user = message["role"] == "user"
        parts = [_part(block, is_user=is_user) for block in _blocks(message)]
        role = "user" if is_user else "assistant"
        items.append({"type": "message", "role": role, "content": parts})
    return items


def _part(block: Mapping[str, object], *, is_user: bool) -> ContentPart:
    if block["type"] == "text":
        kind = "input_text" if is_user else "output_text"
        return {"type": kind, "text": str(block["text"])}
    if block["type"] == "image" and is_user:
        url = f"data:{block['mimeType']};base64,{block['data']}"
        return {"type": "input_image", "image_url": url}
    raise ToolError(f"a message of type {block['type']!r} cannot be put before the model")


def _texts(asked: Mapping[str, object]) -> list[str]:
    """Everything that will be read, in words."""
    texts = [str(asked["systemPrompt"])] if asked.get("systemPrompt") else []
    for message in cast("Sequence[Mapping[str, object]]", asked.get("messages") or ()):
        texts += [str(block.get("text") or f"[{block['type']}]") for block in _blocks(message)]
    return texts


def _blocks(message: Mapping[str, object]) -> Sequence[Mapping[str, object]]:
    content = message["content"]
    if isinstance(content, list):
        return cast("Sequence[Mapping[str, object]]", content)
    return (cast("Mapping[str, object]", content),)


def _bounded(text: str, tokens: int) -> tuple[str, bool]:
    """Cut what is longer than the server asked for; providers are given no such limit."""
    limit = max(tokens, 1) * _BYTES_PER_TOKEN
    data = text.encode()
    if len(data) <= limit:
        return text, True
    return data[:limit].decode(errors="ignore"), False
