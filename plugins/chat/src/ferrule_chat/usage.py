"""Token counts, wherever a vendor puts them."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ferrule_hookspecs.threads import TokenUsage


def read_usage(chunk: Mapping[str, object]) -> TokenUsage | None:
    """Read the counts in a chunk, None where it has none."""
    usage = _table(chunk.get("usage")) or _table(_table(chunk.get("x_groq")).get("usage"))
    if not usage:
        return None
    read, written = _count(usage, "prompt_tokens"), _count(usage, "completion_tokens")
    read_details = _table(usage.get("prompt_tokens_details"))
    reasoning = _count(_table(usage.get("completion_tokens_details")), "reasoning_tokens")
    total = _count(usage, "total_tokens") or read + written
    if reasoning and total == read + written + reasoning:  # xAI counts them apart
        written += reasoning
    return {
        "totalTokens": total,
        "inputTokens": read,
        "cachedInputTokens": _count(read_details, "cached_tokens")
        or _count(usage, "prompt_cache_hit_tokens")  # DeepSeek
        or _count(usage, "cached_tokens"),
        "cacheWriteInputTokens": _count(read_details, "cache_write_tokens"),
        "outputTokens": written,
        "reasoningOutputTokens": reasoning,
    }


def _table(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, dict) else {}


def _count(table: Mapping[str, object], key: str) -> int:
    value = table.get(key)
    return int(value) if isinstance(value, int | float) else 0
