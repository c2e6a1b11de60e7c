"""Lists in pages: a cursor is the number of entries that came before."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar, cast

from ferrule_hookspecs.serving import RpcError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

T = TypeVar("T")


def page(entries: Sequence[T], params: Mapping[str, object]) -> dict[str, object]:
    """Return the part of a list that `cursor` and `limit` ask for, as a reply.

    Raises:
        RpcError: The cursor is none of ours.
    """
    start = _start(params.get("cursor"), len(entries))
    limit = cast("int | None", params.get("limit"))
    end = len(entries) if limit is None else min(len(entries), start + max(1, limit))
    return {
        "data": list(entries[start:end]),
        "nextCursor": str(end) if end < len(entries) else None,
    }


def _start(cursor: object, total: int) -> int:
    if cursor is None:
        return 0
    text = str(cursor)
    if not (text.isascii() and text.isdigit()) or int(text) > total:
        raise RpcError(f"invalid cursor: {text}")
    return int(text)
