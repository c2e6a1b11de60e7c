"""Turns the events of one model stream into items, deltas and history. Used by the sampler."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from ferrule.context import message
from ferrule.ids import uuid7
from ferrule.web_searches import WEB_SEARCH_CALL, WebSearches
from ferrule_hookspecs.provider import Completed, ItemAdded, ItemDone, ReasoningDelta, TextDelta
from ferrule_hookspecs.token_counts import no_usage

if TYPE_CHECKING:
    from collections.abc import Callable

    from ferrule.conversation import Conversation
    from ferrule.session_parts import SessionParts
    from ferrule_hookspecs.history import AnyCall, HistoryItem, MessageItem
    from ferrule_hookspecs.items import AgentMessageItem, ReasoningItem, ThreadItem
    from ferrule_hookspecs.provider import ModelEvent
    from ferrule_hookspecs.threads import TokenUsage


@dataclass(slots=True)
class Sample:
    """What one request gave."""

    items: list[HistoryItem] = field(default_factory=list["HistoryItem"])
    usage: TokenUsage | None = None
    end_turn: bool | None = None
    has_calls: bool = False
    answer: AgentMessageItem | None = None


class StreamReader:
    """Reads one stream."""

    def __init__(
        self,
        parts: SessionParts,
        conversation: Conversation,
        sample: Sample,
        count: Callable[[TokenUsage], None],
    ) -> None:
        self._recorder = parts.recorder
        self._count = count
        self._shown_parts: set[int] = set()
        self._conversation = conversation
        self._sample = sample
        self._current: AgentMessageItem | ReasoningItem | None = None
        self._searches = WebSearches(self._recorder)
        self._text: list[str] = []
        self.is_complete = False

    def take(self, event: ModelEvent) -> AnyCall | None:
        """Handle one event; returns a call that is complete."""
        match event:
            case TextDelta(delta):
                self._show_text(delta)
            case ReasoningDelta(delta, index):
                self._show_reasoning(delta, index)
            case ItemAdded(item):
                self._begin(item)
            case ItemDone(item):
                return self._finish(item)
            case Completed(_, usage, end_turn):
                self.is_complete = True
                self._sample.usage = usage or no_usage()
                self._sample.end_turn = end_turn
                self._count(self._sample.usage)
        return None

    def withdraw(self) -> None:
        """Complete an item that never came to its end as it stands in the history: empty."""
        self._searches.withdraw()
        if self._current is not None:
            self._recorder.item_completed(self._current)
            self._current = None

    def _show_text(self, delta: str) -> None:
        if self._current is None:  # some servers announce nothing
            self._begin({"type": "message", "role": "assistant", "content": []})
        if self._current is not None:
            self._text.append(delta)
            self._recorder.delta("item/agentMessage/delta", self._current["id"], delta)

    def _show_reasoning(self, delta: str, index: int | None) -> None:
        if self._current is None:
            return
        item_id = self._current["id"]
        if index is None:
            self._recorder.delta("item/reasoning/textDelta", item_id, delta)
            return
        if index not in self._shown_parts:
            self._shown_parts.add(index)
            self._recorder.summary_part_added(item_id, index)
        self._recorder.delta("item/reasoning/summaryTextDelta", item_id, delta, index)

    def cut_short(self) -> None:
        """Keep what the model had said: the user has read it."""
        self._searches.withdraw()
        text = "".join(self._text)
        if self._current is not None and self._current["type"] == "agentMessage" and text:
            self._conversation.append(message("assistant", text))
            self._recorder.item_completed({**self._current, "text": text})
            self._current = None

    def _begin(self, item: HistoryItem) -> None:
        self._text = []
        self._shown_parts = set()
        if cast("str", item["type"]) == WEB_SEARCH_CALL:
            self._searches.begin(cast("dict[str, object]", item))
            return
        if item["type"] == "message":
            self._current = {"type": "agentMessage", "id": _item_id(item.get("id")), "text": ""}
        elif item["type"] == "reasoning":
            new_id = _item_id(item.get("id"))
            self._current = {"type": "reasoning", "id": new_id, "summary": [], "content": []}
        else:
            return
        self._recorder.item_started(self._current)

    def _finish(self, item: HistoryItem) -> AnyCall | None:
        match item["type"]:
            case "function_call" | "custom_tool_call":
                self._sample.items.append(item)
                return item
            case "tool_search_call" if item.get("execution") != "server":
                self._sample.items.append(item)
                return item
            case "tool_search_call" | "tool_search_output":  # the provider searched by itself
                self._keep(item)
            case "message":
                self._keep(item)
                self._finish_message(item)
            case "reasoning":
                self._keep(item)
                shown = self._current or {"type": "reasoning", "id": _item_id(item.get("id"))}
                summary = [part.get("text", "") for part in item["summary"]]
                content = [part.get("text", "") for part in item.get("content") or []]
                self._complete(
                    {"type": "reasoning", "id": shown["id"], "summary": summary, "content": content}
                )
            case _:
                self._finish_other(cast("dict[str, object]", item))
        return None

    def _finish_message(self, item: MessageItem) -> None:
        text = "".join(part.get("text") or part.get("refusal", "") for part in item["content"])
        shown = self._current["id"] if self._current else _item_id(item.get("id"))
        done: AgentMessageItem = {"type": "agentMessage", "id": shown, "text": text}
        if phase := item.get("phase"):
            done["phase"] = phase
        self._sample.answer = cast("AgentMessageItem", self._complete(done))

    def _finish_other(self, item: dict[str, object]) -> None:
        """Show what the provider did by itself; what nobody knows is left out."""
        if item["type"] == WEB_SEARCH_CALL:
            self._keep(cast("HistoryItem", item))
            self._searches.finish(item)

    def _keep(self, item: HistoryItem) -> None:
        self._sample.items.append(item)
        self._conversation.append(item)

    def _complete(self, item: AgentMessageItem | ReasoningItem) -> ThreadItem:
        if self._current is None:
            self._recorder.item_started(item)
        self._current = None
        return self._recorder.item_completed(item)


def _item_id(given: str | None) -> str:
    return given or f"item_{uuid7()}"
