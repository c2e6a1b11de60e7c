"""How a model is asked to think: `thinking` and `output_config.effort` of a request.

Models since Claude 4.6 decide themselves how long they think and take an effort as advice; those
since 3.7 think with a budget of tokens; newer ones refuse the older form and the other way round.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ferrule_anthropic.settings import MessagesSettings
    from ferrule_hookspecs.provider import ModelRequest

Form = Literal["adaptive", "budget", "between_tools", "disabled", "off"]

INTERLEAVED_BETA: Final = "interleaved-thinking-2025-05-14"
"""Lets models with a budget think between calls, too; adaptive ones do it anyway."""

_VERSION: Final = re.compile(r"claude-(?:[a-z]+-)*(\d{1,2})(?:[.-](\d{1,2}))?(?!\d)")
_FIRST_WITH_BUDGET: Final = (3, 7)
_FIRST_ADAPTIVE: Final = (4, 6)
_EFFORTS: Final = ("low", "medium", "high", "xhigh", "max")
_BUDGETS: Final = {
    "minimal": 1_024,
    "low": 4_096,
    "medium": 12_288,
    "high": 24_576,
    "xhigh": 32_768,
    "max": 32_768,
}
_LEAST_BUDGET: Final = 1_024


class ThinkingPlan(NamedTuple):
    """What a request says about thinking.

    Attributes:
        thinking: The value of `thinking`; None leaves it out.
        effort: The value of `output_config.effort`; None leaves it out.
        betas: Beta features this needs.
    """

    thinking: Mapping[str, object] | None = None
    effort: str | None = None
    betas: Sequence[str] = ()


def thinking_plan(
    request: ModelRequest, settings: MessagesSettings, max_tokens: int
) -> ThinkingPlan:
    """Plan a request's thinking from its effort, its model and the settings."""
    effort = request.reasoning_effort
    known = request.model_info.reasoning_efforts if request.model_info else ()
    form = _form(request.model) if settings.thinking == "auto" else settings.thinking
    if form == "off":
        return ThinkingPlan()
    if form == "budget":
        return _with_budget(effort, settings, max_tokens)
    if form != "adaptive":
        return ThinkingPlan({"type": form}, _advice(effort, known))
    if effort == "none":  # some models think all the same, and refuse to be told not to
        return ThinkingPlan(None, _advice(effort, known))
    display = "omitted" if request.reasoning_summary == "none" else "summarized"
    return ThinkingPlan({"type": "adaptive", "display": display}, _advice(effort, known))


def _form(model: str) -> Form:
    if "claude" not in model:
        return "off"
    found = _VERSION.search(model)
    if found is None:  # newer families have names without a number
        return "adaptive"
    version = (int(found[1]), int(found[2] or 0))
    if version >= _FIRST_ADAPTIVE:
        return "adaptive"
    return "budget" if version >= _FIRST_WITH_BUDGET else "off"


def _with_budget(effort: str | None, settings: MessagesSettings, max_tokens: int) -> ThinkingPlan:
    wanted = settings.thinking_budget or _BUDGETS.get(effort or "", 0)
    budget = min(wanted, max_tokens // 2)  # the answer needs room, too
    if budget < _LEAST_BUDGET:
        return ThinkingPlan()
    thinking = {"type": "enabled", "budget_tokens": budget}
    return ThinkingPlan(thinking, betas=(INTERLEAVED_BETA,))


def _advice(effort: str | None, known: Sequence[str]) -> str | None:
    """The strongest effort the model knows that is not above the one asked for."""
    if effort in (None, "none", "minimal"):
        return None if effort is None else _EFFORTS[0]
    if effort in known or effort not in _EFFORTS:
        return effort
    below = _EFFORTS[: _EFFORTS.index(effort) + 1]
    return next((each for each in reversed(below) if each in known), effort)
