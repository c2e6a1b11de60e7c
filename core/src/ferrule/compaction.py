"""Keeps a thread's history short enough: when that is due, and putting the shorter one in place.

The prefix stays byte for byte and the ledger stays word for word, whatever a compactor does; a
history is only given up for one that is shorter and well formed. Called by the turn loop.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Final, Literal

import anyio

from ferrule.containment import contained
from ferrule.context_changes import tell_again
from ferrule.dispatcher import strictest
from ferrule.ids import uuid7
from ferrule.transcript import well_formed
from ferrule.usage import tell_usage
from ferrule_hookspecs.errors import FerruleError, ProviderError
from ferrule_hookspecs.provider import Completed
from ferrule_hookspecs.slots import CompactionMaterial
from ferrule_hookspecs.token_counts import estimate_tokens, no_usage

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from ferrule.conversation import Conversation
    from ferrule.session_parts import SessionParts
    from ferrule_hookspecs.history import HistoryItem
    from ferrule_hookspecs.provider import ModelEvent, ModelRequest
    from ferrule_hookspecs.slots import CompactionResult
    from ferrule_hookspecs.threads import TokenUsage

Reason = Literal["manual", "auto", "overflow"]

_CLOSING_S: Final = 5.0
_SLACK_TOKENS: Final = 2_000
"""How much longer a very short history may become by its ledger and the words around a summary."""
_NO_COMPACTOR: Final = (
    "nothing is installed that shortens a history: install ferrule-compaction, or set `compactor`"
    " in config.toml to one that is installed"
)
_FRUITLESS: Final = (
    "the context was full again at once after the last compactions: what always stays (the"
    " instructions, your messages, the ledger) or single outputs take too much of"
    " model_auto_compact_token_limit or of the model's window; the history is not shortened again"
    " before there is room or the model refuses it"
)


class CompactionError(FerruleError):
    """The history could not be shortened and stands as it was."""


class HistoryKeeper:
    """Keeps the history of one turn's thread short enough."""

    def __init__(
        self,
        parts: SessionParts,
        conversation: Conversation,
        request: Callable[[], ModelRequest],
    ) -> None:
        """Take the parts; `request` builds what the model would be asked next."""
        self._parts = parts
        self._conversation = conversation
        self._request = request

    async def keep_short(self) -> None:
        """Compact where the context is nearly full; a failure is a warning only."""
        parts, conversation, gauge = self._parts, self._conversation, self._conversation.gauge
        if parts.compactor is None or not gauge.is_due(
            conversation.items, conversation.prefix_length, parts.settings, parts.context.config
        ):
            return
        if gauge.gives_up():
            if gauge.tells():
                parts.recorder.warning(_FRUITLESS)
            return
        if gauge.is_waiting:
            return
        try:
            await self.compact("auto")
        except FerruleError as error:  # if the window is full, the provider will say so
            gauge.failed()
            parts.recorder.warning(f"the history was not shortened: {error}")

    async def recover(self, error: ProviderError) -> None:
        """Compact because the provider refused the history as too long.

        Raises:
            ProviderError: The failure itself, where it is another one or nothing helped.
        """
        if error.kind != "contextWindowExceeded":
            raise error
        if self._parts.compactor is None:
            raise ProviderError(
                f"{error} Besides, {_NO_COMPACTOR}.",
                kind=error.kind,
                status=error.status,
                details=error.details,
            ) from error
        try:
            await self.compact("overflow")
        except FerruleError as failure:
            self._parts.recorder.warning(f"the history was not shortened: {failure}")
            raise error from failure

    async def compact(self, reason: Reason) -> None:
        """Replace the history by a shorter one.

        Raises:
            FerruleError: No compactor, a plugin's refusal, or no result that is shorter.
        """
        parts, conversation = self._parts, self._conversation
        if parts.compactor is None:
            raise CompactionError(_NO_COMPACTOR)
        request = self._request()
        info = parts.turn_info(request.turn_id)
        verdict = strictest(
            await parts.hooks.assess("ferrule_compact_before", turn=info, reason=reason)
        )
        if verdict.decision == "deny":
            raise CompactionError(f"compaction was refused: {verdict.reason}")
        item_id = uuid7()
        parts.recorder.item_started({"type": "contextCompaction", "id": item_id})
        try:
            history, summary = await self._shorter(request, reason)
        except FerruleError as error:
            parts.recorder.item_completed(
                {
                    "type": "contextCompaction",
                    "id": item_id,
                    "status": "failed",
                    "error": str(error),
                }
            )
            raise
        conversation.replace(history, summary)
        conversation.gauge.compacted(asked_for=reason == "manual")
        await tell_again(parts, conversation, request.turn_id)
        self._tell_size()
        parts.recorder.item_completed({"type": "contextCompaction", "id": item_id})
        await parts.hooks.observe("ferrule_compact_after", turn=info, summary=summary)

    def _tell_size(self) -> None:
        """Tell clients how full the context is now, which the next response will say exactly."""
        spent, estimate = self._parts.budgets, estimate_tokens(self._conversation.items)
        usage: TokenUsage = {**no_usage(), "totalTokens": estimate}
        tell_usage(self._parts, usage, spent.turn_spent, spent.thread_spent)

    async def _shorter(
        self, request: ModelRequest, reason: Reason
    ) -> tuple[list[HistoryItem], str]:
        """Have the compactor make a history, and see that nothing is missing from it."""
        parts, conversation = self._parts, self._conversation
        if parts.compactor is None:
            raise CompactionError(_NO_COMPACTOR)
        from ferrule.ledger_text import ledger_message  # most turns need none

        await conversation.ledger.settle(parts)
        room = window = parts.settings.context_window
        if reason != "overflow":  # else even what that model left was too much for this one
            request, window = self._of_a_model_that_fits(request)
        material = CompactionMaterial(
            conversation.prefix_length,
            tuple(conversation.user_texts),
            ledger_message(conversation.ledger.whole(parts), conversation.user_texts, room),
            conversation.gauge.size(conversation.items) or estimate_tokens(conversation.items),
            window,
        )
        with contained("the compactor"):
            result = await parts.compactor().compact(
                request, MeteredProvider(parts), reason=reason, material=material
            )
            history = self._assembled(result, material)
        return history, result.summary

    def _assembled(
        self, result: CompactionResult, material: CompactionMaterial
    ) -> list[HistoryItem]:
        before = self._conversation.items
        body = list(result.history)
        if material.ledger is not None and material.ledger not in body:
            body.insert(0, material.ledger)
        history = well_formed([*before[: material.prefix], *body])
        is_longer = estimate_tokens(history) >= estimate_tokens(before) + _SLACK_TOKENS
        if not result.summary.strip() or not result.history or is_longer:
            raise CompactionError("the compactor gave no shorter history; the old one is kept")
        return history

    def _of_a_model_that_fits(self, request: ModelRequest) -> tuple[ModelRequest, int | None]:
        """After a change to a model with a smaller window, ask the one that knows the history."""
        settings, served = self._parts.settings, self._conversation.gauge.served_by
        window = settings.context_window
        if (
            served is None
            or window is None
            or served.model == settings.model
            or (served.context_window or 0) <= window
        ):
            return request, window
        request = request._replace(
            model=served.model,
            model_info=served.model_info,
            reasoning_effort=served.reasoning_effort,
        )
        return request, served.context_window


class MeteredProvider:
    """The session's provider, for requests beside the turn's own: what they use is the turn's."""

    def __init__(self, parts: SessionParts) -> None:
        self._parts = parts
        self.name = parts.provider.name
        self.stream_max_retries = parts.provider.stream_max_retries

    def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent]:
        """Send a request within the budgets of the turn."""
        return self._counted(self._parts.provider.stream(request))

    async def _counted(self, events: AsyncIterator[ModelEvent]) -> AsyncGenerator[ModelEvent]:
        budgets = self._parts.budgets
        budgets.check()
        try:
            async for event in events:
                if isinstance(event, Completed) and event.usage is not None:
                    budgets.count(self._parts, event.usage, has_open_calls=False)
                yield event
        finally:
            if isinstance(events, AsyncGenerator):
                with anyio.move_on_after(_CLOSING_S, shield=True):
                    await events.aclose()

    async def aclose(self) -> None:
        """Do nothing: the session closes its provider."""

    def __getattr__(self, name: str) -> object:
        """Hand through what this provider can beside the contract; `compact` is counted, too."""
        value = getattr(self._parts.provider, name)
        if name != "compact":
            return value

        def counted(request: ModelRequest) -> AsyncIterator[ModelEvent]:
            return self._counted(value(request))

        return counted
