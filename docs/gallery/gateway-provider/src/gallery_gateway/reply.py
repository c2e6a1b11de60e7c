"""The answer: put together from the chunks of the stream."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from ferrule_hookspecs import ProviderError
from ferrule_hookspecs.history import HistoryItem, MessageItem
from ferrule_hookspecs.provider import Completed, ItemAdded, ItemDone, ModelEvent, TextDelta
from ferrule_hookspecs.threads import TokenUsage
from ferrule_hookspecs.tools import FreeformSchema, ToolSchema

_CUT = {"length": "the answer was cut off at its longest", "content_filter": "it was withheld"}


class Reply:
    """What came so far. A message is told as it grows, calls when they are whole."""

    def __init__(self, tools: Sequence[ToolSchema]) -> None:
        self._freeform = {tool.name for tool in tools if isinstance(tool, FreeformSchema)}
        self._id = ""
        self._text: str | None = None
        self._calls: dict[int, dict[str, str]] = {}
        self._usage: TokenUsage | None = None
        self._is_over = False

    def take(self, chunk: Mapping[str, Any]) -> Iterator[ModelEvent]:
        """Take one chunk and yield what is new in it."""
        self._id = str(chunk.get("id") or self._id)
        if chunk.get("usage"):
            self._usage = _usage(chunk["usage"])
        for choice in chunk.get("choices", [])[:1]:
            delta = choice.get("delta") or {}
            if delta.get("content"):
                yield from self._said(delta["content"])
            for part in delta.get("tool_calls") or ():
                self._called(part)
            if choice.get("finish_reason"):
                yield from self._end(choice["finish_reason"])

    def completed(self) -> Completed:
        """Return the last event; raises where the model was not done."""
        if not self._is_over:
            raise ProviderError("the answer broke off", retryable=True)
        return Completed(self._id, self._usage)

    def _said(self, text: str) -> Iterator[ModelEvent]:
        if self._text is None:
            self._text = ""
            yield ItemAdded(self._message())
        self._text += text
        yield TextDelta(text)

    def _called(self, part: Mapping[str, Any]) -> None:
        call = self._calls.setdefault(part.get("index", 0), {"id": "", "name": "", "arguments": ""})
        function = part.get("function") or {}
        call["id"] = call["id"] or part.get("id") or ""
        call["name"] += function.get("name") or ""
        call["arguments"] += function.get("arguments") or ""

    def _end(self, reason: str) -> Iterator[ModelEvent]:
        if reason in _CUT:
            raise ProviderError(_CUT[reason])
        if self._is_over:
            return
        self._is_over = True
        if self._text is not None:
            yield ItemDone(self._message())
        for number, call in sorted(self._calls.items()):
            yield ItemDone(self._item(call, call["id"] or f"{self._id}-{number}"))

    def _message(self) -> MessageItem:
        content = [{"type": "output_text", "text": self._text or ""}]
        message = {"type": "message", "role": "assistant", "content": content}
        return cast("MessageItem", message)

    def _item(self, call: Mapping[str, str], call_id: str) -> HistoryItem:
        name, arguments = call["name"], call["arguments"] or "{}"
        if name not in self._freeform:
            return {
                "type": "function_call",
                "call_id": call_id,
                "name": name,
                "arguments": arguments,
            }
        text = str(json.loads(arguments)["input"])
        return {"type": "custom_tool_call", "call_id": call_id, "name": name, "input": text}


def _usage(counts: Mapping[str, Any]) -> TokenUsage:
    read, written = int(counts["prompt_tokens"]), int(counts["completion_tokens"])
    details_in: Mapping[str, int] = counts.get("prompt_tokens_details") or {}
    details_out: Mapping[str, int] = counts.get("completion_tokens_details") or {}
    return {
        "totalTokens": counts.get("total_tokens") or read + written,
        "inputTokens": read,
        "cachedInputTokens": details_in.get("cached_tokens") or 0,
        "cacheWriteInputTokens": 0,
        "outputTokens": written,
        "reasoningOutputTokens": details_out.get("reasoning_tokens") or 0,
    }
