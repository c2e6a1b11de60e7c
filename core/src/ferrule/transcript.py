"""Rebuilds a conversation from its records: turns for clients, history for the model.

Reads what the session writes, and enough of what Codex writes to continue one of its threads: there
the model's history is in the same form, while its items are not and are left out of the turns.
Called when a thread is resumed, forked or shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, cast

from ferrule.borrowed_history import BORROWED_UNTIL
from ferrule.history_shape import pair_calls, without_foreign_parts
from ferrule.rollout import timestamp
from ferrule.usage import Spent
from ferrule_hookspecs.token_counts import no_usage

if TYPE_CHECKING:
    from ferrule_hookspecs.history import HistoryItem
    from ferrule_hookspecs.items import ThreadItem
    from ferrule_hookspecs.store import RecordType, RolloutRecord
    from ferrule_hookspecs.threads import Turn, TurnError, TurnStatus

_NOT_COPIED: Final = frozenset({"session_meta", "thread_name"})
"""Records a fork does not take over: it has its own metadata, and a name finds one thread."""

_NOT_INHERITED: Final = frozenset(
    {"name", "parent_thread_id", "session_id", "history_base", BORROWED_UNTIL}
)
"""Metadata a fork does not take over: it is nobody's subagent, and holds all it needs."""

_CODEX_COUNTS: Final = {
    "totalTokens": "total_tokens",
    "inputTokens": "input_tokens",
    "cachedInputTokens": "cached_input_tokens",
    "cacheWriteInputTokens": "cache_write_input_tokens",
    "outputTokens": "output_tokens",
    "reasoningOutputTokens": "reasoning_output_tokens",
}


def read_history(records: Iterable[RolloutRecord]) -> list[HistoryItem]:
    """Return the model's side, well formed: every call has its output, every output its call."""
    history: list[dict[str, object]] = []
    turn_starts: list[tuple[list[dict[str, object]], int]] = []
    for record in records:
        payload = record["payload"]
        kind = _kind(record)
        if kind == "response_item":
            history.append(payload)
        elif kind == "compacted":  # a new list: turns before it start in the old one
            history = _dicts(payload.get("replacement_history"))
        elif kind == "task_started":
            turn_starts.append((history, len(history)))
        elif kind == "rollback" and turn_starts and _count(payload):
            dropped = min(_count(payload), len(turn_starts))
            history, length = turn_starts[-dropped]
            del turn_starts[-dropped:], history[length:]
    return well_formed(without_foreign_parts(history))


def read_context(records: Iterable[RolloutRecord]) -> Mapping[str, object]:
    """Return what the model was last told that its turns run under.

    A compaction drops the notes about changes: what the thread began with holds until they are
    told again, which a kill in between may have prevented.
    """
    told: list[Mapping[str, object]] = [{}]
    first: Mapping[str, object] = {}
    for record in records:
        kind = _kind(record)
        if kind == "task_started":
            told.append(told[-1])
        elif kind == "turn_context":
            first = first or record["payload"]
            told[-1] = record["payload"]
        elif kind == "compacted":
            told[-1] = first
        elif kind == "rollback":
            del told[max(1, len(told) - _count(record["payload"])) :]
    return told[-1]


def well_formed(history: Iterable[Mapping[str, object]]) -> list[HistoryItem]:
    """Return a history with every call answered and every answer called for."""
    return cast("list[HistoryItem]", pair_calls(dict(item) for item in history))


def read_turns(records: Iterable[RolloutRecord]) -> list[Turn]:
    """Return the turns with their items, as clients see them."""
    turns: list[_TurnFacts] = []
    for record in records:
        kind = _kind(record)
        if kind == "task_started":
            turns.append(_TurnFacts(record))
        elif kind == "rollback":
            del turns[max(0, len(turns) - _count(record["payload"])) :]
        elif turns:
            turns[-1].take(kind, record)
    return [facts.turn() for facts in turns]


def read_user_texts(records: Iterable[RolloutRecord]) -> list[str]:
    """Return what the user wrote, oldest first; nothing of threads that Codex wrote."""
    return [
        part["text"]
        for turn in read_turns(records)
        for item in turn["items"]
        if item["type"] == "userMessage"
        for part in item["content"]
        if part["type"] == "text"
    ]


def spent_so_far(records: Iterable[RolloutRecord]) -> Spent:
    """Return what the thread has used, as its last usage record says."""
    usage: object = None
    usd: object = 0.0
    for record in records:
        if record["type"] == "token_usage_record":
            payload = record["payload"]
            usage = payload.get("thread", payload.get("thread_token_usage"))
            cost = payload.get("cost")
            usd = cast("Mapping[str, object]", cost).get("totalUsd") if cost else None
    counts = no_usage()
    if isinstance(usage, Mapping):
        found = cast("Mapping[str, object]", usage)
        for name, codex_name in _CODEX_COUNTS.items():
            count = found.get(name, found.get(codex_name))
            if isinstance(count, int):
                counts[name] = count
    return Spent(counts, usd if isinstance(usd, float) else None)


def first_turns(records: Sequence[RolloutRecord], keep: int | None) -> Sequence[RolloutRecord]:
    """Return the records of a thread as if only its first turns had been; None keeps all."""
    surplus = 0 if keep is None else len(read_turns(records)) - max(keep, 0)
    if surplus <= 0:
        return records
    taken_back: RolloutRecord = {
        "timestamp": timestamp(),
        "ordinal": len(records),
        "type": "event_msg",
        "payload": {"type": "rollback", "num_turns": surplus},
    }
    return [*records, taken_back]


def copy_for_fork(
    records: Iterable[RolloutRecord],
    thread_id: str,
    changes: Mapping[str, object] | None = None,
) -> Iterator[tuple[RecordType, dict[str, object]]]:
    """Yield what to append to a new thread so that it begins with a copy of another.

    Args:
        records: All records of the thread that is forked.
        thread_id: The new thread.
        changes: What differs in the new `session_meta`, such as cwd and source.
    """
    origin = ""
    for record in records:
        payload = record["payload"]
        if record["type"] == "session_meta" and not origin:
            origin = str(payload.get("id", ""))
            yield "session_meta", _fork_meta(payload, thread_id) | dict(changes or {})
        elif _kind(record) not in _NOT_COPIED:
            renamed = {"thread_id": thread_id} if payload.get("thread_id") == origin else {}
            yield cast("RecordType", record["type"]), payload | renamed


def _fork_meta(origin: Mapping[str, object], thread_id: str) -> dict[str, object]:
    own: dict[str, object] = {
        "id": thread_id,
        "timestamp": timestamp(),
        "forked_from_id": origin.get("id"),
    }
    return {key: origin[key] for key in origin if key not in _NOT_INHERITED} | own


class _TurnFacts:
    """A turn while its records are read."""

    def __init__(self, started: RolloutRecord) -> None:
        self.turn_id = str(started["payload"].get("turn_id", ""))
        self.started_at = _seconds(started)
        self.status: TurnStatus = "interrupted"
        self.error: TurnError | None = None
        self.completed_at: int | None = None
        self.duration_ms: int | None = None
        self.items: dict[str, ThreadItem] = {}
        self.completed: set[str] = set()

    def take(self, kind: str, record: RolloutRecord) -> None:
        payload = record["payload"]
        if payload.get("turn_id") not in (self.turn_id, None):
            return
        if kind in ("item_started", "item_completed"):
            self._take_item(payload.get("item"), completed=kind == "item_completed")
        elif kind == "error" and not payload.get("will_retry"):
            self.error = _error(payload)
        elif kind in ("task_complete", "turn_aborted"):
            self._end(kind, record)

    def _end(self, kind: str, record: RolloutRecord) -> None:
        payload = record["payload"]
        if "error" in payload:  # the last word: the turn may have recovered from earlier ones
            self.error = _error(payload)
        if kind == "task_complete":
            self.status = "failed" if self.error else "completed"
        self.completed_at = _seconds(record)
        duration = payload.get("duration_ms")
        self.duration_ms = duration if isinstance(duration, int) else None

    def _take_item(self, item: object, *, completed: bool) -> None:
        if not isinstance(item, dict):
            return
        fields = cast("dict[str, object]", item)
        type_, item_id = fields.get("type"), fields.get("id")
        if not isinstance(type_, str) or not isinstance(item_id, str) or type_[:1].isupper():
            return  # Codex's rollouts write their items in another form, with capitals
        self.items[item_id] = cast("ThreadItem", fields)
        if completed:
            self.completed.add(item_id)

    def turn(self) -> Turn:
        turn: Turn = {
            "id": self.turn_id,
            "status": self.status,
            "items": list(self._final_items()),
            "itemsView": "full",
            "error": self.error,
            "startedAt": self.started_at,
            "completedAt": self.completed_at,
            "durationMs": self.duration_ms,
        }
        return turn

    def _final_items(self) -> Iterator[ThreadItem]:
        """Yield the items; what was cut short has failed, and half a message is no message."""
        for item_id, item in self.items.items():
            if item_id in self.completed:
                yield item
            elif "status" in item:
                yield cast("ThreadItem", {**item, "status": "failed"})


def _kind(record: RolloutRecord) -> str:
    """Return what a record says: the kind of event, else the type of the record."""
    if record["type"] == "event_msg":
        return str(record["payload"].get("type", ""))
    return record["type"]


def _count(rollback: Mapping[str, object]) -> int:
    turns = rollback.get("num_turns")
    return max(0, turns) if isinstance(turns, int) else 0


def _dicts(value: object) -> list[dict[str, object]]:
    if not isinstance(value, list):
        return []
    items = cast("list[object]", value)
    return [cast("dict[str, object]", item) for item in items if isinstance(item, dict)]


def _error(payload: Mapping[str, object]) -> TurnError | None:
    error = payload.get("error")
    if isinstance(error, dict) and "message" in error:
        return cast("TurnError", error)
    message = payload.get("message")  # where Codex puts it
    return {"message": message} if isinstance(message, str) else None


def _seconds(record: RolloutRecord) -> int | None:
    from datetime import datetime  # only clients ask for turns

    try:
        return int(datetime.fromisoformat(record["timestamp"]).timestamp())
    except ValueError:
        return None
