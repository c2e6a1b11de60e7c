"""Token counts, wherever a vendor puts them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_chat.untyped import count, table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ferrule_hookspecs.threads import TokenUsage


def read_usage(chunk: Mapping[str, object]) -> TokenUsage | None:
    """Read the counts in a chunk, None where it has none."""
    usage = table(chunk.get("usage")) or table(table(chunk.get("x_groq")).get("usage"))
    if not usage:
        return None
    read, written = count(usage.get("prompt_tokens")), count(usage.get("completion_tokens"))
    read_details = table(usage.get("prompt_tokens_details"))
    reasoning = count(table(usage.get("completion_tokens_details")).get("reasoning_tokens"))
    total = count(usage.get("total_tokens")) or read + written
    if reasoning and total == read + written + reasoning:  # xAI counts them apart
        written += reasoning
    return {
        "totalTokens": total,
        "inputTokens": read,
        "cachedInputTokens": count(read_details.get("cached_tokens"))
        or count(usage.get("prompt_cache_hit_tokens"))  # DeepSeek
        or count(usage.get("cached_tokens")),
        "cacheWriteInputTokens": count(read_details.get("cache_write_tokens")),
        "outputTokens": written,
        "reasoningOutputTokens": reasoning,
    }
