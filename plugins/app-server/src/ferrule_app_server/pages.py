"""Pages of lists. A cursor is the key of the entry where the next page begins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from ferrule_hookspecs.serving import RpcError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ferrule_hookspecs.threads import Turn

T = TypeVar("T")
_LIMIT: Final = 1000


def page(
    entries: Sequence[T],
    params: Mapping[str, object],
    *,
    key: Callable[[T], str],
    newest_first: bool,
    default_limit: int = 25,
) -> dict[str, Any]:
    """Cut a page out of a list that is given oldest first.

    Args:
        entries: All there is.
        params: `cursor`, `limit` and `sortDirection` as the client gave them.
        key: Names an entry, for the cursor.
        newest_first: The order where the client names none.
        default_limit: How many where the client names no limit.

    Raises:
        RpcError: The cursor names nothing.
    """
    direction = params.get("sortDirection") or ("desc" if newest_first else "asc")
    ordered = list(reversed(entries)) if direction == "desc" else list(entries)
    limit = params.get("limit")
    size = min(_LIMIT, max(1, limit)) if isinstance(limit, int) else default_limit
    begin = 0
    cursor = params.get("cursor")
    if cursor is not None:
        keys = [key(entry) for entry in ordered]
        wanted = cursor if isinstance(cursor, str) else _anchor(cast("object", cursor))
        if wanted not in keys:
            raise RpcError(f"invalid cursor: {wanted}")
        begin = keys.index(wanted)
    end = begin + size
    return {
        "data": ordered[begin:end],
        "nextCursor": key(ordered[end]) if end < len(ordered) else None,
        "backwardsCursor": key(ordered[begin]) if ordered[begin:end] else None,
    }


def turns_in_view(turns: Sequence[Turn], view: str) -> list[Turn]:
    """Return turns with as many of their items as a client wants to see."""
    if view == "full":
        return list(turns)
    found: list[Turn] = []
    for turn in turns:
        items = [] if view == "notLoaded" else _summary(turn)
        found.append({**turn, "items": items, "itemsView": cast("Any", view)})
    return found


def _summary(turn: Turn) -> list[Any]:
    """Keep what was asked, and what was answered last."""
    asked = [item for item in turn["items"] if item["type"] == "userMessage"]
    answers = [item for item in turn["items"] if item["type"] == "agentMessage"]
    return [*asked[:1], *answers[-1:]]


def _anchor(cursor: object) -> str:
    fields = cast("Mapping[str, object]", cursor) if isinstance(cursor, dict) else {}
    return str(fields.get("itemId") or fields.get("turnId") or cursor)
