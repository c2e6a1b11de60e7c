"""Where the part of a history ends that is never rewritten: what a thread began with."""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ferrule_hookspecs.history import HistoryItem
    from ferrule_hookspecs.store import RolloutRecord


def leading_messages(items: Iterable[HistoryItem]) -> int:
    """Count the messages before the model's first word, of a history in which no turn has run."""
    return sum(1 for _ in takewhile(_is_told, items))


def stored_prefix_length(records: Sequence[RolloutRecord], history: Sequence[HistoryItem]) -> int:
    """Count what a stored thread began with before its first turn.

    Codex writes it into the first turn: there it is what looks like it at the beginning.
    """
    begun = takewhile(lambda record: record["payload"].get("type") != "task_started", records)
    items = [
        cast("HistoryItem", record["payload"])
        for record in begun
        if record["type"] == "response_item"
    ]
    if items:
        return min(leading_messages(items), len(history))
    return sum(1 for _ in takewhile(_looks_told, history))


def _is_told(item: HistoryItem) -> bool:
    return item["type"] == "message" and item["role"] != "assistant"


def _looks_told(item: HistoryItem) -> bool:
    if item["type"] != "message" or item["role"] == "assistant":
        return False
    return item["role"] != "user" or _text(item).lstrip().startswith(("<environment", "# AGENTS"))


def _text(item: Mapping[str, object]) -> str:
    parts = cast("list[Mapping[str, object]]", item.get("content") or [])
    return "".join(str(part.get("text", "")) for part in parts)
