"""Model providers: one request in, a stream of events out. Slot `ferrule.providers`.

The entry name is the wire API (`wire_api` of a `model_providers` table), such as `responses`.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from ferrule_hookspecs.history import HistoryItem
    from ferrule_hookspecs.models import ModelInfo
    from ferrule_hookspecs.threads import TokenUsage
    from ferrule_hookspecs.tools import SpecialSchema, ToolSchema


class ModelRequest(NamedTuple):
    """One request to a model.

    Attributes:
        thread_id: The thread; also the prompt cache key.
        turn_id: The turn.
        model: The model's name.
        input: The whole history, context included, oldest first.
        tools: In stable order.
        kind: Why the request is made.
        parallel_tool_calls: Whether the model may call several tools at once.
        reasoning_effort: Free string of the provider; None leaves it to the model.
        reasoning_summary: auto, concise, detailed or none.
        verbosity: low, medium or high.
        output_schema: JSON Schema the last message must follow.
        metadata: Facts about the client, sent along where the provider has room for them.
        model_info: What is known about the model, None where nothing is.
        service_tier: How fast and dear the answer may be, such as fast or flex; `default` and None
            leave it to the account.
        special_tools: Tools of a form of the API's own, behind the others; only with providers
            that name them in their `special_tools`.
    """

    thread_id: str
    turn_id: str
    model: str
    input: Sequence[HistoryItem]
    tools: Sequence[ToolSchema]
    kind: Literal["turn", "compaction", "review"] = "turn"
    parallel_tool_calls: bool = True
    reasoning_effort: str | None = None
    reasoning_summary: str | None = None
    verbosity: str | None = None
    output_schema: Mapping[str, object] | None = None
    metadata: Mapping[str, str] = MappingProxyType({})
    model_info: ModelInfo | None = None
    service_tier: str | None = None
    special_tools: Sequence[SpecialSchema] = ()


class ItemAdded(NamedTuple):
    """The model began an item; text deltas may follow."""

    item: HistoryItem


class TextDelta(NamedTuple):
    """More text of the message that was added last."""

    delta: str


class ReasoningDelta(NamedTuple):
    """More reasoning: a summary part by its number, or raw content when `part` is None."""

    delta: str
    part: int | None = 0


class ItemDone(NamedTuple):
    """An item is complete; a tool call may start now."""

    item: HistoryItem


class Completed(NamedTuple):
    """The response is complete.

    Attributes:
        response_id: The provider's id.
        usage: Token counts; None when the provider gave none.
        end_turn: False asks for another sampling although no tool was called.
    """

    response_id: str
    usage: TokenUsage | None
    end_turn: bool | None = None


ModelEvent = ItemAdded | TextDelta | ReasoningDelta | ItemDone | Completed


class ModelProvider(Protocol):
    """Speaks one model API. Constructed with a `PluginContext` whose `settings` is its table.

    A provider may also have `notice`, a sentence every user of it should see when a session is
    opened, and `catalogue_headers`, what its API wants beside the key when `ferrule doctor` asks it
    for its list of models, and `special_tools`, the names its API has a form of its own for:
    `tool_search`, and tools that the provider itself runs, which are offered nowhere else. Where
    time passes before the first request, because a person is there, `prewarm()` is called in a
    thread, and then `async warm_up(request)` with what that will begin with. Where the API
    shortens histories itself, `compact(request)` asks it to, and yields what `stream` does: an
    `ItemDone` for every item of the shorter one.

    Attributes:
        name: Display name.
        stream_max_retries: How often a broken stream is tried again by the kernel.
    """

    name: str
    stream_max_retries: int

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """Send one request and yield what comes back, ending with `Completed`.

        Raises:
            ProviderError: The request failed; it says whether trying again may help.
        """
        ...

    async def aclose(self) -> None:
        """Close connections."""
        ...
