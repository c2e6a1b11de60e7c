"""Arithmetic on token counts, for all who add up what was used."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, cast

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ferrule_hookspecs.history import HistoryItem
    from ferrule_hookspecs.threads import TokenUsage

BYTES_PER_TOKEN: Final = 4
_IMAGE_TOKENS: Final = 1_200


def no_usage() -> TokenUsage:
    """Return zero counts."""
    return {
        "totalTokens": 0,
        "inputTokens": 0,
        "cachedInputTokens": 0,
        "cacheWriteInputTokens": 0,
        "outputTokens": 0,
        "reasoningOutputTokens": 0,
    }


def add_usage(one: TokenUsage, other: TokenUsage) -> TokenUsage:
    """Return the sum of two counts."""
    return {
        "totalTokens": one["totalTokens"] + other["totalTokens"],
        "inputTokens": one["inputTokens"] + other["inputTokens"],
        "cachedInputTokens": one["cachedInputTokens"] + other["cachedInputTokens"],
        "cacheWriteInputTokens": one["cacheWriteInputTokens"] + other["cacheWriteInputTokens"],
        "outputTokens": one["outputTokens"] + other["outputTokens"],
        "reasoningOutputTokens": one["reasoningOutputTokens"] + other["reasoningOutputTokens"],
    }


def estimate_tokens(items: Iterable[HistoryItem]) -> int:
    """Estimate how many tokens items have: a quarter of their bytes, and so many for an image."""
    return sum(map(_item_tokens, items))


def _item_tokens(item: HistoryItem) -> int:
    images: list[object] = []
    plain = _without_images(item, images)
    text = json.dumps(plain, ensure_ascii=False, separators=(",", ":"))
    size = len(text.encode("utf-8", "replace"))
    return len(images) * _IMAGE_TOKENS + -(-size // BYTES_PER_TOKEN)


def _without_images(value: object, images: list[object]) -> object:
    if isinstance(value, dict):
        table = cast("dict[str, object]", value)
        if table.get("type") == "input_image":
            images.append(table)
            return None
        return {key: _without_images(each, images) for key, each in table.items()}
    if isinstance(value, list):
        return [_without_images(each, images) for each in cast("list[object]", value)]
    return value
