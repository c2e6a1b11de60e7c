"""What is known about models: limits, abilities, prices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence


class ModelPrices(NamedTuple):
    """Prices in US dollars per million tokens.

    Attributes:
        input: Tokens read that were not cached.
        output: Tokens written, reasoning included.
        cached_input: Tokens read from the provider's cache; None means the price of `input`.
        cache_write: Tokens written to the cache; None means the price of `input`.
    """

    input: float
    output: float
    cached_input: float | None = None
    cache_write: float | None = None


class ModelInfo(NamedTuple):
    """Facts about one model.

    Attributes:
        name: The model's name as the provider knows it.
        provider: Entry of `model_providers` the facts hold for; empty for every provider.
        display_name: Name for people.
        context_window: Tokens of input and output together, None where unknown.
        max_output_tokens: Most tokens of one answer, None where unknown.
        tool_output_tokens: Tokens of a tool's output the model should get at most.
        tool_calls: How it calls tools: by the API's own means, or in text where it cannot.
        freeform_tools: Whether it may be given tools that take plain text under a grammar.
        parallel_tool_calls: Whether it may call several tools at once.
        input_modalities: What it reads: text, image.
        reasoning_efforts: The efforts it knows, weakest first; empty where it has none.
        default_effort: The effort used when none is configured.
        disabled_tools: Tools that are not offered to it.
        prices: What it costs, None where unknown.
        source: Where the facts come from: a file, or `built-in`.
        tool_search: Whether it looks for tools in a form of its API's own.
        searches_images: Whether a search of the web may show it images.
    """

    name: str
    provider: str = ""
    display_name: str = ""
    context_window: int | None = None
    max_output_tokens: int | None = None
    tool_output_tokens: int | None = None
    tool_calls: Literal["native", "text"] = "native"
    freeform_tools: bool = False
    parallel_tool_calls: bool = True
    input_modalities: Sequence[str] = ("text",)
    reasoning_efforts: Sequence[str] = ()
    default_effort: str | None = None
    disabled_tools: Sequence[str] = ()
    prices: ModelPrices | None = None
    source: str = "built-in"
    tool_search: bool = False
    searches_images: bool = False
