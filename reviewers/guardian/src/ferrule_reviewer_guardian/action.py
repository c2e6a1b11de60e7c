"""The action that is judged, as the reviewing model and the clients see it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, NamedTuple

from ferrule_consult.text import cut, json_line, tokens

if TYPE_CHECKING:
    from ferrule_hookspecs.review import ReviewRequest
    from ferrule_hookspecs.tools import TurnInfo

_ARGUMENTS: Final = 8_000
_SHORT: Final = 250
_OPINIONS: Final = 20


class Action(NamedTuple):
    """What is to be judged.

    Attributes:
        fields: Everything about it, each text bounded.
        is_whole: Whether the arguments are there in full.
    """

    fields: dict[str, object]
    is_whole: bool


def action_of(request: ReviewRequest, turn: TurnInfo | None) -> Action:
    """Describe the call of a request."""
    call = request.call
    arguments, is_whole = _arguments(request)
    fields: dict[str, object] = {
        "tool": call.tool,
        "arguments": arguments,
        "cwd": cut(request.cwd, _SHORT).text,
        "runs": "outside of the sandbox" if request.escalation else "in the sandbox",
        "reason": cut(request.reason, _SHORT * 2).text,
    }
    if not is_whole:
        fields["note"] = "the arguments are cut; what is left out cannot be judged"
    if request.denial is not None:
        fields["sandbox_refused"] = cut(request.denial.reason, _SHORT).text
    opinions = {
        plugin[:100]: f"{said.decision}: {cut(said.reason or said.rule, _SHORT).text}"
        for plugin, said in list(request.verdicts.items())[:_OPINIONS]
        if said.decision != "allow"
    }
    if opinions:
        fields["policy_plugins_say"] = opinions
    if turn is not None:
        fields["sandbox_mode"] = turn.sandbox_mode
    return Action(fields, is_whole)


def _arguments(request: ReviewRequest) -> tuple[object, bool]:
    call = request.call
    shown = cut(call.text, _ARGUMENTS)
    if not shown.is_whole or call.form == "freeform":
        return shown.text, shown.is_whole
    try:
        value: object = json.loads(call.text)
        fits = tokens(json_line(value)) <= _ARGUMENTS
    except (ValueError, RecursionError):
        return shown.text, True
    return (value, True) if fits else (shown.text, True)
