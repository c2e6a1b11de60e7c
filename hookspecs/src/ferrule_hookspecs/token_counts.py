"""Arithmetic on token counts, for all who add up what was used."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ferrule_hookspecs.threads import TokenUsage


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
