"""The request as a program or a service reads it; docs/reviewers.md describes every key."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ferrule_hookspecs.review import ReviewRequest

VERSION: Final = 1


def payload_of(request: ReviewRequest) -> bytes:
    """Write a request as JSON; `call` is exactly what will run."""
    call, denial = request.call, request.denial
    payload: dict[str, object] = {
        "version": VERSION,
        "threadId": request.thread_id,
        "turnId": request.turn_id,
        "call": {
            "callId": call.call_id,
            "tool": call.tool,
            "arguments": call.arguments,
            "text": call.text,
            "form": call.form,
            "requestedTool": call.requested_tool,
        },
        "item": request.item,
        "reason": request.reason,
        "cwd": request.cwd,
        "escalation": request.escalation,
        "network": None if request.network is None else request.network._asdict(),
        "denial": None if denial is None else denial._asdict(),
        "verdicts": {
            plugin: {
                "decision": verdict.decision,
                "reason": verdict.reason,
                "rule": verdict.rule,
            }
            for plugin, verdict in request.verdicts.items()
        },
        "amendments": [
            {"kind": amendment.kind, "value": list(amendment.value)}
            for amendment in request.amendments
        ],
    }
    return json.dumps(payload, default=_thawed).encode() + b"\n"


def _thawed(value: object) -> object:
    """Arguments are frozen: mappings that are no dictionaries."""
    if isinstance(value, Mapping):
        return dict(value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    if isinstance(value, (set, frozenset)):
        return sorted(value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    return str(value)
