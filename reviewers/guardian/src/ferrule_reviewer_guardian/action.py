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
    if request.network is not None:
        fields["asks"] = "only whether the running command may make this one connection"
        fields["connection"] = request.network._asdict()
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


def shown_action(request: ReviewRequest, action: Action) -> dict[str, object]:
    """Describe the call in the form that clients know, with what the model read beside it."""
    return {**action.fields, **_known_form(request)}


def _known_form(request: ReviewRequest) -> dict[str, object]:
    item, call, network = request.item, request.call, request.network
    if network is not None:
        return {
            "type": "networkAccess",
            "target": f"{network.host}:{network.port}",
            "host": network.host,
            "port": network.port,
            "protocol": network.wire_protocol,
        }
    if request.lasting and request.permissions is not None:
        return {"type": "requestPermissions", "permissions": request.permissions.wire}
    if item is not None and item["type"] == "fileChange":
        files = [change["path"] for change in item["changes"]]
        return {"type": "applyPatch", "cwd": request.cwd, "files": files}
    if item is not None and item["type"] == "mcpToolCall":
        return {"type": "mcpToolCall", "server": item["server"], "toolName": item["tool"]}
    if item is not None and item["type"] == "commandExecution":
        command, cwd = cut(item["command"], _ARGUMENTS).text, item["cwd"]
        return {"type": "command", "source": "unifiedExec", "command": command, "cwd": cwd}
    # Clients know no other kind; a tool of ours is shown as one of a server of that name.
    return {"type": "mcpToolCall", "server": "ferrule", "toolName": call.tool}
