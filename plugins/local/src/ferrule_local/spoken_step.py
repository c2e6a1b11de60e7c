"""Turns the text of one step, while the model still writes it, into events for the kernel."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from ferrule_hookspecs.provider import ItemAdded, ItemDone, ReasoningDelta, TextDelta
from ferrule_local.partial_json import GrowingText
from ferrule_local.prompt import parse_step
from ferrule_local.steps import to_call

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ferrule_hookspecs.history import MessageItem, ReasoningHistoryItem
    from ferrule_hookspecs.provider import ModelEvent
    from ferrule_local.steps import Tools

TOO_LONG: Final = (
    "I stopped: the next step grew longer than a small embedded model can write. The task is not "
    "finished."
)
_DONE: Final = '"tool": "done"'


class SpokenStep:
    """One step as it comes: why, then a call or the last message."""

    def __init__(self, tools: Tools, *, has_schema: bool) -> None:
        """Wait for its first text; a message that follows a schema comes whole, as JSON."""
        self._tools = tools
        self._has_schema = has_schema
        self._written = ""
        self._why = GrowingText("why")
        self._message = GrowingText("message")
        self._reasoning_id: str | None = None
        self._message_id: str | None = None

    def add(self, text: str) -> Iterator[ModelEvent]:
        """Take more text."""
        self._written += text
        if new := self._why.read(self._written):
            if self._reasoning_id is None:
                self._reasoning_id = _new_id("rs")
                yield ItemAdded(_reasoning(self._reasoning_id, ""))
            yield ReasoningDelta(new)
        if self._has_schema or _DONE not in self._written:
            return
        if new := self._message.read(self._written):
            if self._message_id is None:
                yield from self._end_reasoning()
                self._message_id = _new_id("msg")
                yield ItemAdded(message("", self._message_id))
            yield TextDelta(new)

    def end(self) -> Iterator[ModelEvent]:
        """Take note that it is complete."""
        step = parse_step(self._written)
        if self._message_id is None:
            yield from self._end_reasoning()
        if step is not None and step["tool"] != "done":
            yield ItemDone(to_call(step, self._tools, _new_id("call")))
            return
        text = TOO_LONG if step is None else self._text_of(step)
        if self._message_id is None:
            self._message_id = _new_id("msg")
            yield ItemAdded(message("", self._message_id))
            yield TextDelta(text)
        yield ItemDone(message(text, self._message_id))

    def _end_reasoning(self) -> Iterator[ModelEvent]:
        if self._reasoning_id is not None:
            why = GrowingText("why").read(self._written)
            yield ItemDone(_reasoning(self._reasoning_id, why))
            self._reasoning_id = None

    def _text_of(self, step: dict[str, Any]) -> str:
        said = step["message"]
        return json.dumps(said, ensure_ascii=False) if self._has_schema else str(said)


class SpokenText:
    """Plain text as it comes."""

    def __init__(self) -> None:
        """Wait for its first text."""
        self._id = _new_id("msg")
        self._written = ""

    def add(self, text: str) -> Iterator[ModelEvent]:
        """Take more text."""
        if not self._written:
            yield ItemAdded(message("", self._id))
        self._written += text
        yield TextDelta(text)

    def end(self) -> Iterator[ModelEvent]:
        """Take note that it is complete."""
        if not self._written:
            yield ItemAdded(message("", self._id))
        yield ItemDone(message(self._written, self._id))


def message(text: str, item_id: str) -> MessageItem:
    """Build a message of the model."""
    return {
        "type": "message",
        "role": "assistant",
        "id": item_id,
        "content": [{"type": "output_text", "text": text}] if text else [],
    }


def _reasoning(item_id: str, why: str) -> ReasoningHistoryItem:
    return {
        "type": "reasoning",
        "id": item_id,
        "summary": [{"type": "summary_text", "text": why}] if why else [],
    }


def _new_id(kind: str) -> str:
    return f"{kind}_{uuid4().hex}"


def said_once(text: str) -> Iterator[ModelEvent]:
    """Say something that the model did not write."""
    item_id = _new_id("msg")
    yield ItemAdded(message("", item_id))
    yield TextDelta(text)
    yield ItemDone(message(text, item_id))
