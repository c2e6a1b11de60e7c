"""Shortens the input of a request that is too long, in one step, to a number of tokens.

The beginning that is cached stays, the newest items stay, and every output stays with its call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from ferrule_compaction.prompt import is_summary, user_message
from ferrule_compaction.retained import cut_middle
from ferrule_hookspecs.token_counts import estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ferrule_hookspecs.history import HistoryItem

SEALED: Final = ("compaction", "compaction_summary")
"""Items in which a provider keeps a shortened history; only it can read them."""
_SHARE_OF_ONE: Final = 4
"""An item may take this part of the room; a longer one is cut in its middle."""
_CALLS: Final = {
    "function_call": "function_call_output",
    "custom_tool_call": "custom_tool_call_output",
    "local_shell_call": "function_call_output",
    "tool_search_call": "tool_search_output",
}
_OUTPUTS: Final = frozenset(_CALLS.values())
_CUT_KEYS: Final = {
    "function_call": "arguments",
    "custom_tool_call": "input",
    "function_call_output": "output",
    "custom_tool_call_output": "output",
}


def trimmed(items: Sequence[HistoryItem], prefix: int, tokens: int) -> list[HistoryItem]:
    """Return the prefix, a word about what is missing, and the newest items that fit.

    The last summary stays as well: nothing else says what came before it.
    """
    start, body = list(items[:prefix]), list(items[prefix:])
    room = max(tokens - estimate_tokens(start), 0)
    most = max(room // _SHARE_OF_ONE, 1)
    summary = max(
        (place for place, item in enumerate(body) if _stands_for_more(item, room)), default=-1
    )
    kept: dict[int, HistoryItem] = {}
    if summary >= 0:
        kept[summary] = _shortened(body[summary], most)
        room -= estimate_tokens([kept[summary]])
    for place in range(len(body) - 1, -1, -1):
        if place in kept:
            continue
        short = _shortened(body[place], most)
        size = estimate_tokens([short])
        if size > room and len(kept) > (summary >= 0):
            break
        kept[place] = short
        room -= size
    whole = _with_their_calls([kept[place] for place in sorted(kept)])
    missing = len(body) - len(whole)
    return [*start, *_word_about(missing), *whole]


def _stands_for_more(item: HistoryItem, room: int) -> bool:
    """Whether an item is all that is left of what came before it, and fits."""
    return is_summary(item) or (str(item["type"]) in SEALED and estimate_tokens([item]) <= room)


def _word_about(missing: int) -> list[HistoryItem]:
    if not missing:
        return []
    return [user_message(f"[… {missing} older items of this conversation are left out here …]")]


def _with_their_calls(items: Sequence[HistoryItem]) -> list[HistoryItem]:
    """Leave out outputs whose call is gone, and calls whose output is."""
    fields = [cast("dict[str, object]", item) for item in items]
    opened: dict[tuple[object, object], list[int]] = {}
    paired: set[int] = set()
    for place, item in enumerate(fields):
        type_, key = str(item["type"]), item.get("call_id")
        if item.get("execution") == "server" or (type_ not in _CALLS and type_ not in _OUTPUTS):
            paired.add(place)
        elif type_ in _CALLS:
            opened.setdefault((_CALLS[type_], key), []).append(place)
        elif waiting := opened.get((type_, key)):
            paired |= {place, waiting.pop(0)}
    return [item for place, item in enumerate(items) if place in paired]


def _shortened(item: HistoryItem, tokens: int) -> HistoryItem:
    """Cut the text of an item that is too long by itself; what is not text stays."""
    if estimate_tokens([item]) <= tokens:
        return item
    fields = cast("dict[str, object]", item)
    key = _CUT_KEYS.get(item["type"])
    if item["type"] == "function_call":  # its arguments are JSON, and half of that is none
        return cast("HistoryItem", {**fields, "arguments": "{}"})
    if key is not None:
        return cast("HistoryItem", {**fields, key: _cut_text(fields[key], tokens)})
    if item["type"] == "message":
        return cast("HistoryItem", {**fields, "content": _cut_parts(fields["content"], tokens)})
    return item


def _cut_text(value: object, tokens: int) -> object:
    if isinstance(value, str):
        return cut_middle(value, tokens)
    return _cut_parts(value, tokens)


def _cut_parts(value: object, tokens: int) -> object:
    if not isinstance(value, list):
        return value
    parts = cast("list[dict[str, object]]", value)
    return [_cut_part(part, max(tokens // max(len(parts), 1), 1)) for part in parts]


def _cut_part(part: dict[str, object], tokens: int) -> dict[str, object]:
    if part.get("type") == "input_image":
        return {"type": "input_text", "text": "[an image is left out here]"}
    text = part.get("text")
    return {**part, "text": cut_middle(text, tokens)} if isinstance(text, str) else part
