"""Tools that the client runs: the model calls them, `item/tool/call` asks the client."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple, cast

from ferrule_hookspecs.errors import ToolError
from ferrule_hookspecs.tools import FunctionSchema, Tool, ToolResult

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ferrule_hookspecs.events import ServerRequest
    from ferrule_hookspecs.history import ContentPart
    from ferrule_hookspecs.items import DynamicToolCallItem, ThreadItem, ToolContent
    from ferrule_hookspecs.plugins import PluginContext
    from ferrule_hookspecs.tools import ToolCall, ToolContext


class _Offer(NamedTuple):
    """What a client says of one of its tools."""

    name: str
    description: str
    parameters: Mapping[str, object]
    namespace: str | None

    @property
    def wire_name(self) -> str:
        """What the model calls it."""
        return f"{self.namespace}__{self.name}" if self.namespace else self.name


class ClientTool(Tool):
    """A tool of the client."""

    parallel = True
    # The client runs it by its own rules: asking the client whether it may be asked says nothing.
    read_only = True

    def __init__(self, context: PluginContext, offer: _Offer) -> None:
        super().__init__(context)
        self._offer = offer
        self.name = offer.wire_name  # pyright: ignore[reportAttributeAccessIssue] -- per instance

    def schema(self) -> FunctionSchema:
        """How the model is told to call it."""
        return FunctionSchema(self.name, self._offer.description, self._offer.parameters)

    def item(self, call: ToolCall, cwd: str) -> ThreadItem:
        """How the call is shown while it runs."""
        return self._item(call, {"status": "inProgress"})

    async def run(self, call: ToolCall, context: ToolContext) -> ToolResult:
        """Have the client run it."""
        if context.ask_client is None:
            raise ToolError(f"{self.name} runs at the client, and none is connected")
        params: dict[str, object] = {
            "threadId": context.thread_id,
            "turnId": context.turn_id,
            "callId": call.call_id,
            "tool": self._offer.name,
            "namespace": self._offer.namespace,
            "arguments": _thawed(call.arguments),
        }
        request = {"id": 0, "method": "item/tool/call", "params": params}
        asked = time.monotonic()
        answer = await context.ask_client(cast("ServerRequest", request))
        contents = _contents(answer)
        success = answer.get("success") is True
        item = self._item(
            call,
            {
                "status": "completed" if success else "failed",
                "contentItems": contents,
                "success": success,
                "durationMs": int((time.monotonic() - asked) * 1000),
            },
        )
        return ToolResult([_for_model(part) for part in contents], success, item)

    def _item(self, call: ToolCall, rest: Mapping[str, object]) -> ThreadItem:
        item: DynamicToolCallItem = {
            "type": "dynamicToolCall",
            "id": call.call_id,
            "namespace": self._offer.namespace,
            "tool": self._offer.name,
            "arguments": _thawed(call.arguments),
            "status": "inProgress",
        }
        return cast("ThreadItem", {**item, **rest})


def client_tools(
    offers: Sequence[Mapping[str, object]],
) -> Callable[[PluginContext], Sequence[Tool]]:
    """Return what makes the tools that a client offers with `thread/start`."""
    flat = [each for offer in offers for each in _flattened(offer)]

    def make(context: PluginContext) -> Sequence[Tool]:
        return [ClientTool(context, offer) for offer in flat]

    return make


def _flattened(offer: Mapping[str, object]) -> list[_Offer]:
    if "tools" not in offer:
        return [_offer(offer, None)]
    tools = cast("Sequence[Mapping[str, object]]", offer["tools"])
    return [_offer(tool, str(offer["name"])) for tool in tools]


def _offer(fields: Mapping[str, object], namespace: str | None) -> _Offer:
    schema = fields["inputSchema"]
    parameters = cast("Mapping[str, object]", schema) if isinstance(schema, dict) else {}
    return _Offer(
        str(fields["name"]),
        str(fields["description"]),
        parameters or {"type": "object", "properties": {}},
        namespace,
    )


def _contents(answer: Mapping[str, object]) -> list[ToolContent]:
    """Return what the client answered; an answer of another shape is told to the model as such."""
    given = answer.get("contentItems")
    contents = [
        cast("ToolContent", part)
        for part in (given if isinstance(given, list) else [])
        if isinstance(part, dict)
        and isinstance(part.get("text" if part.get("type") == "inputText" else "imageUrl"), str)
    ]
    if contents or answer.get("success") is True:
        return contents
    return [{"type": "inputText", "text": "dynamic tool request failed"}]


def _for_model(part: ToolContent) -> ContentPart:
    if part["type"] == "inputText":
        return {"type": "input_text", "text": part["text"]}
    return {"type": "input_image", "image_url": part["imageUrl"]}


def _thawed(value: object) -> object:
    """Return a frozen value as plain JSON."""
    from collections.abc import Mapping as AnyMapping

    if isinstance(value, AnyMapping):
        return {key: _thawed(each) for key, each in cast("Mapping[str, object]", value).items()}
    if isinstance(value, list | tuple):
        return [_thawed(each) for each in cast("Sequence[object]", value)]
    return value
