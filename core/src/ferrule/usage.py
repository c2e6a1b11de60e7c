"""What was used: adding up tokens and their price, for a turn and for a thread."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, cast

from ferrule_hookspecs.token_counts import add_usage, no_usage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ferrule.session_parts import SessionParts
    from ferrule_hookspecs.events import TokenUsageUpdated
    from ferrule_hookspecs.models import ModelPrices
    from ferrule_hookspecs.store import RolloutRecord
    from ferrule_hookspecs.threads import Cost, ThreadTokenUsage, TokenUsage

_PER_MILLION: Final = 1_000_000


def price_usd(usage: TokenUsage, prices: ModelPrices) -> float:
    """Return what a response cost; cached and cache-writing tokens are part of the input."""
    cached, written = usage["cachedInputTokens"], usage["cacheWriteInputTokens"]
    plain = max(usage["inputTokens"] - cached - written, 0)
    cached_price = prices.input if prices.cached_input is None else prices.cached_input
    write_price = prices.input if prices.cache_write is None else prices.cache_write
    millionths = plain * prices.input + cached * cached_price + written * write_price
    return (millionths + usage["outputTokens"] * prices.output) / _PER_MILLION


class Spent(NamedTuple):
    """Tokens and their price in US dollars; None once a price was not known."""

    tokens: TokenUsage
    usd: float | None

    def plus(self, usage: TokenUsage, prices: ModelPrices | None) -> Spent:
        """Return the sum with one more response."""
        usd = None
        if self.usd is not None and prices is not None:
            usd = self.usd + price_usd(usage, prices)
        return Spent(add_usage(self.tokens, usage), usd)


def nothing_spent() -> Spent:
    """Return what a turn or thread starts with."""
    return Spent(no_usage(), 0.0)


def tell_usage(parts: SessionParts, usage: TokenUsage, turn: Spent, thread: Spent) -> None:
    """Store and tell what a response of the running turn used, and what it comes to so far."""
    recorder = parts.recorder
    cost: Cost = {"turnUsd": turn.usd, "totalUsd": thread.usd}
    recorder.record(
        "token_usage_record",
        {"response": usage, "turn": turn.tokens, "thread": thread.tokens, "cost": cost},
    )
    recorder.emit(
        {
            "method": "thread/tokenUsage/updated",
            "params": {
                "threadId": recorder.thread_id,
                "turnId": recorder.turn_id,
                "tokenUsage": {
                    "last": usage,
                    "turn": turn.tokens,
                    "total": thread.tokens,
                    "modelContextWindow": parts.settings.context_window,
                    "cost": cost,
                },
            },
        }
    )


def stored_usage(
    records: Sequence[RolloutRecord], thread_id: str, window: int | None
) -> TokenUsageUpdated | None:
    """Tell again what a stored thread has used; None where it has used nothing."""
    turn_id, payload = "", None
    for record in records:
        if record["payload"].get("type") == "task_started":
            turn_id = str(record["payload"].get("turn_id"))
        elif record["type"] == "token_usage_record" and "response" in record["payload"]:
            payload = record["payload"]
    if payload is None:
        return None
    usage: dict[str, object] = {
        "last": payload["response"],
        "turn": payload.get("turn"),
        "total": payload.get("thread"),
        "modelContextWindow": window,
    }
    if payload.get("cost"):
        usage["cost"] = payload["cost"]
    return {
        "method": "thread/tokenUsage/updated",
        "params": {
            "threadId": thread_id,
            "turnId": turn_id,
            "tokenUsage": cast("ThreadTokenUsage", usage),
        },
    }
