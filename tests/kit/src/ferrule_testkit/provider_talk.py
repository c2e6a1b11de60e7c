"""Talking to a model provider: send requests through it and keep what it streams."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

import anyio

from ferrule_hookspecs.errors import ProviderError
from ferrule_hookspecs.history import HistoryItem
from ferrule_hookspecs.provider import (
    ItemDone,
    ModelEvent,
    ModelProvider,
    ModelRequest,
    ReasoningDelta,
    TextDelta,
)

_E = TypeVar("_E", bound=ModelEvent)


@dataclass
class Heard:
    """What a request gave: its events, and the error that ended it, if one did."""

    events: list[ModelEvent] = field(default_factory=list[ModelEvent])
    error: ProviderError | None = None

    def of(self, type_: type[_E]) -> list[_E]:
        """The events of one type."""
        return [event for event in self.events if isinstance(event, type_)]

    @property
    def items(self) -> list[HistoryItem]:
        """The items that were completed."""
        return [event.item for event in self.of(ItemDone)]

    @property
    def text(self) -> str:
        """All text deltas together."""
        return "".join(event.delta for event in self.of(TextDelta))

    @property
    def reasoning(self) -> str:
        """All reasoning deltas together."""
        return "".join(event.delta for event in self.of(ReasoningDelta))


def make_request(default_model: str, **changes: object) -> ModelRequest:
    """Make a request with an empty history and no tools, where `changes` say nothing else."""
    given: dict[str, object] = {"model": default_model, "input": [], "tools": []}
    given |= {"thread_id": "thread-1", "turn_id": "turn-1"}
    return ModelRequest(**{**given, **changes})  # pyright: ignore[reportArgumentType]


def talk(make_provider: Callable[[], ModelProvider], *requests: ModelRequest) -> list[Heard]:
    """Send requests one after another through one provider, then close it; one `Heard` for each."""

    async def main() -> list[Heard]:
        provider = make_provider()
        heard: list[Heard] = []
        for request in requests:
            heard.append(Heard())
            try:
                async for event in provider.stream(request):
                    heard[-1].events.append(event)
            except ProviderError as error:
                heard[-1].error = error
        await provider.aclose()
        return heard

    return anyio.run(main)
