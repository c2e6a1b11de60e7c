"""What reviewers and other plugins ask of models counts towards the session's budgets, too.

Every model provider that a plugin is given is wrapped here; the turn's own requests are counted by
the turn.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING

from ferrule.model_facts import facts_about
from ferrule_hookspecs.provider import Completed

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from ferrule.session_parts import SessionParts
    from ferrule_hookspecs.models import ModelPrices
    from ferrule_hookspecs.provider import ModelEvent, ModelProvider, ModelRequest


class MeteredProvider:
    """A provider whose responses are counted; without budget left it is not asked."""

    def __init__(self, parts: SessionParts, name: str, provider: ModelProvider) -> None:
        """Take the session, the provider's name in the configuration, and the provider."""
        self.name = provider.name
        self.stream_max_retries = provider.stream_max_retries
        self._parts = parts
        self._id = name or parts.provider_name
        self._provider = provider

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """Pass a request on, and count what comes back.

        Raises:
            BudgetExceededError: A budget is used up.
        """
        budgets = self._parts.budgets
        budgets.check()
        events = self._provider.stream(request)
        try:
            async for event in events:
                if isinstance(event, Completed):
                    budgets.count_beside(event.usage, await self._prices(request))
                yield event
        finally:
            if isinstance(events, AsyncGenerator):
                await events.aclose()

    async def aclose(self) -> None:
        """Close the provider."""
        await self._provider.aclose()

    async def _prices(self, request: ModelRequest) -> ModelPrices | None:
        info, parts = request.model_info, self._parts
        if info is None:
            info = await facts_about(parts.hooks, parts.context, self._id, request.model)
        return None if info is None else info.prices


def metered(
    parts: SessionParts, opened: Callable[[str], ModelProvider]
) -> Callable[[str], ModelProvider]:
    """Have every provider that is opened by its name count for the session, and count once."""
    return opened if isinstance(opened, _Metering) else _Metering(parts, opened)


class _Metering:
    """Opens providers that count; a copy of the session's parts, as for a review, keeps it."""

    def __init__(self, parts: SessionParts, opened: Callable[[str], ModelProvider]) -> None:
        self._parts = parts
        self._opened = opened

    def __call__(self, name: str) -> ModelProvider:
        return MeteredProvider(self._parts, name, self._opened(name))
