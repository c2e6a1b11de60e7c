"""The history as this API takes it: without what only another API understands.

A thread may have been served by another provider before. What that one wrote for itself, this one's
server would refuse: reasoning it cannot read, ids and keys it does not know.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, cast

from ferrule_hookspecs.history import called_name
from ferrule_responses.freeform import as_function, knows_only_functions

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ferrule_hookspecs.history import HistoryItem, ReasoningHistoryItem
    from ferrule_hookspecs.provider import ModelRequest

_FOREIGN_KEYS: Final = frozenset(("reasoning_details", "extra_content"))
_SEARCHES: Final = ("tool_search_call", "tool_search_output")


class Reading(NamedTuple):
    """What a model can read.

    Attributes:
        only_functions: Of calls only those of functions.
        searches: Searches for tools, and what they found.
    """

    only_functions: bool = False
    searches: bool = True


def reading_of(request: ModelRequest) -> Reading:
    """Say what the model of a request can read; one of which nothing is known reads all."""
    info = request.model_info
    return Reading(knows_only_functions(request), info is None or info.tool_search)


def input_items(items: Iterable[HistoryItem], reading: Reading) -> list[HistoryItem]:
    """Return what is sent of a history; items that need no change stay the same objects."""
    own = [_own_fields(item) for item in items if not _is_foreign(item)]
    if not reading.searches:
        own = [_without_namespace(item) for item in own if item["type"] not in _SEARCHES]
    return [as_function(item) for item in own] if reading.only_functions else own


def _without_namespace(item: HistoryItem) -> HistoryItem:
    """Write the call of a tool that a search found as one of a tool in the list."""
    if item["type"] != "function_call" or "namespace" not in item:
        return item
    kept = {key: value for key, value in item.items() if key != "namespace"}
    return cast("HistoryItem", {**kept, "name": called_name(item)})


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
