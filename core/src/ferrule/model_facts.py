"""What plugins know about a session's model, and what follows from it for its settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, cast

from ferrule_hookspecs.models import ModelInfo

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ferrule.dispatcher import Dispatcher
    from ferrule.session_parts import Settings
    from ferrule_hookspecs.plugins import PluginContext

_COMPACT_SHARE: Final = 0.9


async def known_models(
    hooks: Dispatcher, context: PluginContext, model: str | None = None
) -> list[ModelInfo]:
    """Gather what plugins know about a model, or about all; the first about a model counts."""
    found: dict[tuple[str, str], ModelInfo] = {}
    for _, answer in await hooks.gather("ferrule_models", context=context, model=model):
        if isinstance(answer, Sequence):
            for info in cast("Sequence[object]", answer):
                if isinstance(info, ModelInfo):
                    found.setdefault((info.provider, info.name), info)
    return list(found.values())


async def facts_about(
    hooks: Dispatcher, context: PluginContext, provider: str, model: str
) -> ModelInfo | None:
    """Find the facts about one model.

    Those that name the provider come first; a price that another provider asks does not count.
    """
    named = [info for info in await known_models(hooks, context, model) if info.name == model]
    fitting = [info for info in named if info.provider in (provider, "")]
    if fitting:
        return max(fitting, key=lambda info: bool(info.provider))
    return named[0]._replace(prices=None) if named else None


async def doubt_about(
    hooks: Dispatcher, context: PluginContext, provider: str, model: str
) -> str | None:
    """Say that a model nobody knows has nearly the name of one that this provider serves."""
    from difflib import get_close_matches

    served = [i.name for i in await known_models(hooks, context) if i.provider == provider]
    near = get_close_matches(model, served, n=1, cutoff=0.8)
    if not near:
        return None
    return f"no model {model!r} is known of the provider {provider!r}; did you mean {near[0]!r}?"


def with_model(
    settings: Settings, info: ModelInfo | None, config: Mapping[str, object]
) -> Settings:
    """Return the settings for a model; what the configuration says beats what is known."""
    window = _number(config, "model_context_window") or (info.context_window if info else None)
    compact_at = _number(config, "model_auto_compact_token_limit")
    if window is not None:
        share = int(window * _COMPACT_SHARE)
        compact_at = share if compact_at is None else min(compact_at, share)
    effort = settings.reasoning_effort
    if settings.model_info is not None and effort == settings.model_info.default_effort:
        effort = None  # it was the default of the model before
    output_limit = _number(config, "tool_output_token_limit") or settings.output_token_limit
    if info is not None:
        effort = effort or info.default_effort
        output_limit = min(output_limit, info.tool_output_tokens or output_limit)
    return replace(
        settings,
        model_info=info,
        context_window=window,
        auto_compact_limit=compact_at,
        reasoning_effort=effort,
        output_token_limit=output_limit,
    )


def _number(config: Mapping[str, object], key: str) -> int | None:
    value = config.get(key)
    return value if isinstance(value, int) else None
