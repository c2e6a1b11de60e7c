"""Turns what a model says, piece by piece, into items that begin, grow and end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, cast

from ferrule_hookspecs.provider import ItemAdded, ItemDone, ReasoningDelta, TextDelta

if TYPE_CHECKING:
    from ferrule_hookspecs.history import CallItem, HistoryItem
    from ferrule_hookspecs.provider import ModelEvent

Details = dict[str, list[dict[str, object]]]


class Reply:
    """The items of one answer; at most one of them is open at a time."""

    def __init__(self) -> None:
        """Start without items."""
        self._events: list[ModelEvent] = []
        self._open: Literal["reasoning", "message"] | None = None
        self._text: list[str] = []
        self._unsent: list[str] = []
        self._blank: list[str] = []  # opens no item until something visible comes
        self._details: Details = {}

    def take_events(self) -> list[ModelEvent]:
        """Hand out what has happened; pieces of text that came together are one delta."""
        self._send_delta()
        events, self._events = self._events, []
        return events

    @property
    def is_answering(self) -> bool:
        """Whether a message is open."""
        return self._open == "message"

    def think(self, text: str) -> None:
        """Take more reasoning."""
        self._say("reasoning", text)

    def say(self, text: str) -> None:
        """Take more of the answer."""
        self._say("message", text)

    def detail(self, field: str, details: list[dict[str, object]]) -> None:
        """Take what the vendor wants back with the reasoning; fragments of one entry are joined."""
        known = self._details.setdefault(field, [])
        for entry in details:
            last = known[-1] if known else None
            if last is not None and _continues(last, entry):
                _join(last, entry)
            else:
                known.append(dict(entry))

    def call(self, item: CallItem) -> None:
        """Take a complete call."""
        self.close()
        self._events += [ItemAdded(item), ItemDone(item)]

    def remark(self, text: str) -> None:
        """Tell the user something that is not the model's, as a summary of reasoning."""
        item = {"type": "reasoning", "summary": [{"type": "summary_text", "text": text}]}
        begun = cast("HistoryItem", {"type": "reasoning", "summary": []})
        done = cast("HistoryItem", item)
        self._events += [ItemAdded(begun), ReasoningDelta(text, 0), ItemDone(done)]

    def close(self) -> None:
        """End the open item."""
        self._send_delta()
        if self._open is not None:
            self._events.append(ItemDone(self._item("".join(self._text))))
        elif self._details:  # reasoning that is sealed and has no words
            self._open = "reasoning"
            self._events += [ItemAdded(self._item("")), ItemDone(self._item(""))]
        if self._open == "reasoning":
            self._details = {}
        self._open = None
        self._text.clear()
        self._blank.clear()

    def _say(self, kind: Literal["reasoning", "message"], text: str) -> None:
        if self._open != kind:
            self._blank.append(text)
            if not text.strip():
                return
            text = "".join(self._blank).lstrip()
            self.close()
            self._open = kind
            self._events.append(ItemAdded(self._item("")))
        self._text.append(text)
        self._unsent.append(text)

    def _send_delta(self) -> None:
        if not self._unsent:
            return
        delta = "".join(self._unsent)
        self._unsent.clear()
        is_answer = self._open == "message"
        self._events.append(TextDelta(delta) if is_answer else ReasoningDelta(delta, None))

    def _item(self, text: str) -> HistoryItem:
        if self._open == "message":
            content = [{"type": "output_text", "text": text}] if text else []
            message = {"type": "message", "role": "assistant", "content": content}
            return cast("HistoryItem", message)
        content = [{"type": "reasoning_text", "text": text}] if text else []
        reasoning = {"type": "reasoning", "summary": [], "content": content, **self._details}
        return cast("HistoryItem", reasoning)


def _continues(last: dict[str, object], entry: dict[str, object]) -> bool:
    has_index = "index" in entry and entry["index"] is not None
    return has_index and all(last.get(key) == entry.get(key) for key in ("index", "type"))


def _join(last: dict[str, object], entry: dict[str, object]) -> None:
    """Lengthen the texts of an entry; whatever else comes later replaces what was there."""
    for key, value in entry.items():
        before = last.get(key)
        if key in ("text", "summary", "data") and isinstance(before, str) and value:
            last[key] = f"{before}{value}"
        elif value is not None:
            last[key] = value
