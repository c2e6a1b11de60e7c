"""What has happened in one turn: fed by the connection, read through `Turn`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

import anyio

from ferrule_sdk.event_buffer import EventBuffer

if TYPE_CHECKING:
    from ferrule_hookspecs.events import (
        DiffUpdated,
        Event,
        ItemCompleted,
        ItemStarted,
        TokenUsageUpdated,
        TurnCompleted,
    )
    from ferrule_hookspecs.items import ThreadItem
    from ferrule_hookspecs.threads import ThreadTokenUsage, Turn

_FINAL: Final = "final_answer"


class TurnLog:
    """The course of one turn.

    Attributes:
        turn: The turn as it was last heard of.
        usage: Tokens so far.
        diff: What it changed in the workspace, as a unified diff.
        events: What happened, for one reader.
        failure: What went wrong in this process: the connection, or a callback.
        has_begun: Set when the server has begun with it.
        has_ended: Set when nothing more will come.
    """

    def __init__(self, turn: Turn) -> None:
        self.turn: Turn = turn
        self.usage: ThreadTokenUsage | None = None
        self.diff = ""
        self.events = EventBuffer()
        self.failure: Exception | None = None
        self.has_begun = anyio.Event()
        self.has_ended = anyio.Event()
        self._started: list[ThreadItem] = []
        self._is_final: list[bool] = []
        self._running: dict[str, int] = {}

    @property
    def items(self) -> list[ThreadItem]:
        """The completed items, in the order in which they were started."""
        pairs = zip(self._started, self._is_final, strict=True)
        return [item for item, is_final in pairs if is_final]

    @property
    def text(self) -> str:
        """The model's answer: its last message, commentary left out where it can be told."""
        messages = [item for item in self.items if item["type"] == "agentMessage"]
        finals = [each["text"] for each in messages if each.get("phase") == _FINAL]
        plain = [each["text"] for each in messages if not each.get("phase")]
        found = finals or plain or [each["text"] for each in messages]
        return found[-1] if found else ""

    def item(self, item_id: str) -> ThreadItem | None:
        """Find an item by its id, the latest where it is not the only one."""
        return next((item for item in reversed(self._started) if item["id"] == item_id), None)

    def feed(self, event: Event) -> None:
        """Take an event of the turn."""
        match event["method"]:
            case "turn/started":
                self.has_begun.set()
            case "item/started":
                self._begin(cast("ItemStarted", event)["params"]["item"])
            case "item/completed":
                self._complete(cast("ItemCompleted", event)["params"]["item"])
            case "thread/tokenUsage/updated":
                self.usage = cast("TokenUsageUpdated", event)["params"]["tokenUsage"]
            case "turn/diff/updated":
                self.diff = cast("DiffUpdated", event)["params"]["diff"]
            case "turn/completed":
                self.turn = cast("TurnCompleted", event)["params"]["turn"]
            case _:
                pass
        self.events.put(event)
        if event["method"] == "turn/completed":
            self.end(None)

    def end(self, failure: Exception | None) -> None:
        """Nothing more will come."""
        self.failure = self.failure or failure
        self.has_begun.set()
        self.has_ended.set()
        self.events.close(self.failure)

    def _begin(self, item: ThreadItem) -> None:
        self._running[item["id"]] = len(self._started)
        self._started.append(item)
        self._is_final.append(False)

    def _complete(self, item: ThreadItem) -> None:
        if item["id"] not in self._running:
            self._begin(item)
        at = self._running.pop(item["id"])  # ids may come again
        self._started[at], self._is_final[at] = item, True
