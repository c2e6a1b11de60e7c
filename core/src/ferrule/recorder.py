"""Writes a session's records and tells its clients, in that order.

Everything a client is told about an item or a turn stands in the rollout first, so that a kill at
any moment loses nothing that was acknowledged. An ephemeral session writes nothing.
"""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING, Literal, cast

import anyio.to_thread

from ferrule_hookspecs.errors import FerruleError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Set

    from ferrule.event_queue import EventQueue
    from ferrule_hookspecs.decisions import DecisionFacts, DecisionParams
    from ferrule_hookspecs.events import Event, ItemCompleted, ItemStarted, ServerRequest
    from ferrule_hookspecs.history import HistoryItem
    from ferrule_hookspecs.items import ThreadItem
    from ferrule_hookspecs.review import ReviewOutcome
    from ferrule_hookspecs.store import RecordType, ThreadWriter
    from ferrule_hookspecs.threads import ThreadStatus, Turn, TurnError

_STORED = {"item/started": "item_started", "item/completed": "item_completed"}


def now_ms() -> int:
    """Unix time in milliseconds."""
    return time.time_ns() // 1_000_000


class Recorder:
    """The one way from a session to its rollout and its clients."""

    def __init__(self, thread_id: str, writer: ThreadWriter | None, queue: EventQueue) -> None:
        self.thread_id = thread_id
        self.queue = queue
        self.turn_id = ""
        self.running = ""  # the turn, while it runs
        self.warned: set[str] = set()
        self.told_above: Set[str] = frozenset()  # what the thread above has warned of
        self.listener: Callable[[Event], None] | None = None
        self._writer = writer
        self._open_items: dict[str, ThreadItem] = {}
        self._pending: set[str] = set()

    @property
    def heard(self) -> Set[str]:
        """Warnings of this thread and of those above it, for one that works for it."""
        return self.warned | self.told_above

    def record(self, type_: RecordType, payload: dict[str, object]) -> None:
        """Store one record."""
        if self._writer is not None:
            self._writer.append(type_, payload)

    def record_history(self, item: HistoryItem) -> None:
        """Store one item of the model's history."""
        self.record("response_item", cast("dict[str, object]", item))

    def emit(self, event: Event) -> None:
        """Store what must be stored of an event, then queue it."""
        if event["method"] == "item/started" or event["method"] == "item/completed":
            params = event["params"]
            item = params["item"] = self._timed(event)
            self.record(
                "event_msg",
                {"type": _STORED[event["method"]], "turn_id": params["turnId"], "item": item},
            )
            if event["method"] == "item/started":
                self._open_items[item["id"]] = item
            else:
                self._open_items.pop(item["id"], None)
                self._pending.discard(item["id"])
        if self.listener is not None:
            self.listener(event)
        self.queue.put(event)

    def _timed(self, event: ItemStarted | ItemCompleted) -> ThreadItem:
        """Say in an item when it began and ended, as clients know it from stored turns."""
        item = event["params"]["item"]
        times: dict[str, object]
        if event["method"] == "item/started":
            times = {"startedAtMs": event["params"]["startedAtMs"], "completedAtMs": None}
        else:
            ended = event["params"]["completedAtMs"]
            begun = self._open_items.get(item["id"]) or item
            started = cast("Mapping[str, object]", begun)
            times = {"startedAtMs": started.get("startedAtMs", ended), "completedAtMs": ended}
        return cast("ThreadItem", {**item, **times})

    def ask(self, request: ServerRequest) -> None:
        """Queue a question."""
        self.queue.put(request)

    def item_started(self, item: ThreadItem) -> None:
        """Tell that an item of the running turn began."""
        params = {
            "threadId": self.thread_id,
            "turnId": self.turn_id,
            "item": item,
            "startedAtMs": now_ms(),
        }
        self.emit(cast("Event", {"method": "item/started", "params": params}))

    def item_completed(self, item: ThreadItem) -> ThreadItem:
        """Tell that an item of the running turn is final; returns it as it was told."""
        params = {
            "threadId": self.thread_id,
            "turnId": self.turn_id,
            "item": item,
            "completedAtMs": now_ms(),
        }
        self.emit(cast("Event", {"method": "item/completed", "params": params}))
        return cast("ThreadItem", params["item"])

    def delta(self, method: str, item_id: str, delta: str, index: int | None = None) -> None:
        """Tell a piece of a running item."""
        params: dict[str, object] = {
            "threadId": self.thread_id,
            "turnId": self.turn_id,
            "itemId": item_id,
            "delta": delta,
        }
        if index is not None:
            params["summaryIndex"] = index
        self.queue.put(cast("Event", {"method": method, "params": params}))

    def summary_part_added(self, item_id: str, index: int) -> None:
        """Tell that another part of a reasoning summary begins."""
        self.queue.put(
            {
                "method": "item/reasoning/summaryPartAdded",
                "params": {
                    "threadId": self.thread_id,
                    "turnId": self.turn_id,
                    "itemId": item_id,
                    "summaryIndex": index,
                },
            }
        )

    def is_open(self, item_id: str) -> bool:
        """Whether an item was started and not completed."""
        return item_id in self._open_items

    def open_items(self) -> list[ThreadItem]:
        """Items of the running turn that were started and not completed.

        A command that outlives its turn is completed by its tool, so it is not among them.
        """
        return [item for item in self._open_items.values() if item["id"] not in self._pending]

    def pending_items(self) -> list[ThreadItem]:
        """Items that outlive the turn they began in."""
        return [item for item in self._open_items.values() if item["id"] in self._pending]

    def keep_open(self, item_id: str) -> None:
        """Leave an item to its tool, which completes it later."""
        self._pending.add(item_id)

    def status(self, status: ThreadStatus) -> None:
        """Tell how the thread stands."""
        self.queue.put(
            {
                "method": "thread/status/changed",
                "params": {"threadId": self.thread_id, "status": status},
            }
        )

    def warning(self, message: str) -> None:
        """Tell something a user should know; stored where it can be, for it may explain the rest.

        Never raises: what cannot be stored, as on a full disk, is told all the same. What the
        thread above has said already is not said again.
        """
        if message in self.told_above:
            return
        self.warned.add(message)
        with suppress(FerruleError, OSError):
            self.record("event_msg", {"type": "warning", "message": message})
        self.queue.put(
            {"method": "warning", "params": {"threadId": self.thread_id, "message": message}}
        )

    def error(self, error: TurnError, *, will_retry: bool) -> None:
        """Tell what went wrong with the running turn."""
        self.record(
            "event_msg",
            {"type": "error", "turn_id": self.turn_id, "error": error, "will_retry": will_retry},
        )
        self.queue.put(
            {
                "method": "error",
                "params": {
                    "threadId": self.thread_id,
                    "turnId": self.turn_id,
                    "error": error,
                    "willRetry": will_retry,
                },
            }
        )

    def decided(
        self,
        item_id: str,
        tool: str,
        phase: Literal["requirement", "review", "escalation", "network"],
        outcome: ReviewOutcome,
        facts: DecisionFacts | None = None,
    ) -> None:
        """Store and tell what was decided about a call of the running turn, and from which facts.

        Facts are None where the call never came to be judged.
        """
        decision = {"tool": tool, "phase": phase, "outcome": outcome, "facts": facts}
        stored = {"type": "decision", "turn_id": self.turn_id, "call_id": item_id}
        self.record("event_msg", {**stored, **decision})
        params: DecisionParams = {
            "threadId": self.thread_id,
            "turnId": self.turn_id,
            "itemId": item_id,
            "tool": tool,
            "phase": phase,
            "outcome": outcome,
        }
        if facts is not None:
            params["facts"] = facts
        self.emit({"method": "item/decision", "params": params})

    def turn_started(self, turn: Turn) -> None:
        """Tell that a turn began."""
        self.turn_id = self.running = turn["id"]
        self.record("event_msg", {"type": "task_started", "turn_id": turn["id"]})
        self.status({"type": "active", "activeFlags": []})
        self.queue.put(
            {"method": "turn/started", "params": {"threadId": self.thread_id, "turn": turn}}
        )

    async def turn_completed(self, turn: Turn, last_message: str | None) -> None:
        """Tell how a turn ended, once that would survive a power failure."""
        self.running = ""
        if turn["status"] == "interrupted":
            payload: dict[str, object] = {"type": "turn_aborted", "reason": "interrupted"}
        else:
            payload = {
                "type": "task_complete",
                "last_agent_message": last_message,
                "error": turn.get("error"),
            }
        payload |= {"turn_id": turn["id"], "duration_ms": turn.get("durationMs")}
        self.record("event_msg", payload)
        if self._writer is not None:  # a disk takes its time; other threads need not wait for it
            await anyio.to_thread.run_sync(self._writer.sync)
        if turn["status"] != "failed":  # what failed was told with the error
            self.status({"type": "idle"})
        self.queue.put(
            {"method": "turn/completed", "params": {"threadId": self.thread_id, "turn": turn}}
        )
