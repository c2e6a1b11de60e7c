"""How full a thread's context is, and whether compacting it still helps. Used by `compaction.py`.

The provider's own count of the last response is the truth; what came since is estimated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ferrule_hookspecs.token_counts import estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ferrule.session_parts import Settings
    from ferrule_hookspecs.history import HistoryItem
    from ferrule_hookspecs.store import RolloutRecord
    from ferrule_hookspecs.threads import TokenUsage

_FULL_SHARE: Final = 0.9
_FRUITLESS: Final = 2
_BODY_ONLY: Final = "body_after_prefix"
_OF_THE_MODEL: Final = frozenset(
    {"reasoning", "function_call", "custom_tool_call", "local_shell_call", "web_search_call"}
)


class Gauge:
    """Measures one thread's context.

    Attributes:
        served_by: What the last response was asked under; its model knows the history.
    """

    def __init__(self, tokens: int | None = None) -> None:
        """Start from what the last response had, None where nothing is known."""
        self.served_by: Settings | None = None
        self._tokens = tokens
        self._asked: int | None = None
        self._asking = 0
        self._responses = 0
        self._fruitless = 0
        self._failures = 0
        self._wait = 0
        self._is_uncounted = False
        self._has_compacted = False
        self._has_told = False

    def asking(self, length: int) -> None:
        """Take note how many items the next request has."""
        self._asking = length

    def measured(self, usage: TokenUsage, settings: Settings) -> None:
        """Take the provider's count of a response; where it counts nothing, it is estimated."""
        self.served_by = settings
        self._responses += 1
        self._wait -= self._wait > 0
        self._is_uncounted = not usage["totalTokens"]
        if not self._is_uncounted:
            self._tokens, self._asked = usage["totalTokens"], self._asking

    def size(self, items: Sequence[HistoryItem]) -> int | None:
        """Say how many tokens the next request has; None before the first response."""
        if self._is_uncounted:
            return estimate_tokens(items)
        if self._tokens is None or self._asked is None:
            return self._tokens
        since = [item for item in items[self._asked :] if not _is_the_models(item)]
        return self._tokens + estimate_tokens(since)

    def is_due(
        self,
        items: Sequence[HistoryItem],
        prefix: int,
        settings: Settings,
        config: Mapping[str, object],
    ) -> bool:
        """Whether the history should be shortened before the next request."""
        size, limit = self.size(items), settings.auto_compact_limit
        if size is None or limit is None or len(items) <= prefix:
            return False
        window = settings.context_window
        if window is not None and size >= int(window * _FULL_SHARE):
            is_due = True
        elif config.get("model_auto_compact_token_limit_scope") == _BODY_ONLY:
            is_due = size - estimate_tokens(items[:prefix]) >= limit
        else:
            is_due = size >= limit
        if not is_due:
            self._fruitless, self._has_told = 0, False
        return is_due

    @property
    def is_waiting(self) -> bool:
        """Whether a compaction failed so lately that the next is not tried yet."""
        return self._wait > 0

    def gives_up(self) -> bool:
        """Whether compacting has stopped to help: the context was full again each time at once."""
        return self._fruitless >= _FRUITLESS

    def tells(self) -> bool:
        """Whether this is the first time to tell so."""
        first, self._has_told = not self._has_told, True
        return first

    def compacted(self, *, asked_for: bool) -> None:
        """Start anew with a shorter history."""
        is_again = self._has_compacted and self._responses <= 1
        self._fruitless = self._fruitless + 1 if is_again and not asked_for else 0
        self._has_compacted = True
        self._tokens = self._asked = None
        self._is_uncounted = False
        self._responses = self._failures = self._wait = 0

    def failed(self) -> None:
        """Wait for a while after a compaction that failed, longer after each."""
        self._failures += 1
        self._wait = 2**self._failures


def stored_gauge(records: Sequence[RolloutRecord]) -> Gauge:
    """Return the gauge of a stored thread, as its last response left it."""
    tokens: int | None = None
    for record in records:
        if record["type"] == "compacted":
            tokens = None
        elif record["type"] == "token_usage_record" and not record["payload"].get("aside"):
            usage = record["payload"].get("response")
            total = usage.get("totalTokens") if isinstance(usage, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
            tokens = total if isinstance(total, int) and total else tokens
    return Gauge(tokens)


def _is_the_models(item: HistoryItem) -> bool:
    return item["type"] in _OF_THE_MODEL or (
        item["type"] == "message" and item["role"] == "assistant"
    )
