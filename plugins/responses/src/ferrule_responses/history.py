"""The history as this API takes it: without what only another API understands.

A thread may have been served by another provider before. What that one wrote for itself, this one's
server would refuse: reasoning it cannot read, ids and keys it does not know.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from ferrule_responses.freeform import as_function

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ferrule_hookspecs.history import HistoryItem, ReasoningHistoryItem

_FOREIGN_KEYS: Final = frozenset(("reasoning_details", "extra_content"))


def input_items(items: Iterable[HistoryItem], *, only_functions: bool) -> list[HistoryItem]:
    """Return what is sent of a history; items that need no change stay the same objects."""
    own = [_own_fields(item) for item in items if not _is_foreign(item)]
    return [as_function(item) for item in own] if only_functions else own


def _is_foreign(item: HistoryItem) -> bool:
    return item["type"] == "reasoning" and not _is_readable(item)


def _is_readable(item: ReasoningHistoryItem) -> bool:
    sealed = item.get("encrypted_content")
    if sealed:
        return ":" not in sealed  # others mark theirs so; this API's is base64
    return "id" in item  # a server that seals nothing names its reasoning at least


def _own_fields(item: HistoryItem) -> HistoryItem:
    table = cast("dict[str, object]", item)
    has_foreign_id = "." in str(table.get("id", ""))
    if not has_foreign_id and _FOREIGN_KEYS.isdisjoint(table):
        return item
    dropped = _FOREIGN_KEYS | ({"id"} if has_foreign_id else set())
    kept = {key: value for key, value in table.items() if key not in dropped}
    return cast("HistoryItem", kept)
