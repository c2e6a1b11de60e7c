"""Methods that begin, steer or end a turn."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from ferrule_app_server.begun_turn import begun_turn
from ferrule_app_server.calls import thread_of
from ferrule_app_server.thread_changes import settings_of
from ferrule_app_server.thread_params import (
    ShellParams,
    ThreadIdParams,
    TurnInterruptParams,
    TurnStartParams,
    TurnSteerParams,
)
from ferrule_hookspecs.serving import RpcCall, RpcError, RpcMethod

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ferrule_hookspecs.ops import Op


async def _start(call: RpcCall) -> Mapping[str, object]:
    live, params = thread_of(call), call.params
    turn_id = await live.perform_turn(
        _op(
            "turn/start",
            live.id,
            input=_input(params),
            outputSchema=params.get("outputSchema"),
            clientUserMessageId=params.get("clientUserMessageId"),
            budget=params.get("budget"),
            **settings_of(params),
        )
    )
    return {"turn": begun_turn(turn_id)}


async def _steer(call: RpcCall) -> Mapping[str, object]:
    live, params = thread_of(call), call.params
    taken = await live.session.perform(
        _op(
            "turn/steer",
            live.id,
            input=_input(params),
            expectedTurnId=params["expectedTurnId"],
            clientUserMessageId=params.get("clientUserMessageId"),
        )
    )
    return {"turnId": taken.get("turnId", params["expectedTurnId"])}


async def _interrupt(call: RpcCall) -> Mapping[str, object]:
    live = thread_of(call)
    await live.session.perform(_op("turn/interrupt", live.id, turnId=call.params["turnId"]))
    return {}


async def _compact(call: RpcCall) -> Mapping[str, object]:
    live = thread_of(call)
    await live.perform_turn(_op("thread/compact/start", live.id))
    return {}


async def _shell(call: RpcCall) -> Mapping[str, object]:
    live = thread_of(call)
    command = str(call.params["command"])
    if not command.strip():
        raise RpcError("command must not be empty")
    op = _op(
        "thread/shellCommand", live.id, command=command, timeoutMs=call.params.get("timeoutMs")
    )
    await live.perform_turn(op)
    return {}


def _input(params: Mapping[str, object]) -> list[Mapping[str, object]]:
    """Return the input; what no model here can be given is refused rather than left out."""
    parts = cast("list[Mapping[str, object]]", params["input"])
    for part in parts:
        if part["type"] in ("audio", "localAudio"):
            raise RpcError(f"input of type {part['type']} is not supported by this server")
        if part["type"] == "image" and not part.get("url"):
            raise RpcError("images by `fileId` are not supported by this server; send a `url`")
    return parts


def _op(method: str, thread_id: str, **params: object) -> Op:
    return cast("Op", {"id": "", "method": method, "params": {"threadId": thread_id, **params}})


METHODS = (
    RpcMethod("turn/start", _start, TurnStartParams),
    RpcMethod("turn/steer", _steer, TurnSteerParams),
    RpcMethod("turn/interrupt", _interrupt, TurnInterruptParams),
    RpcMethod("thread/compact/start", _compact, ThreadIdParams),
    RpcMethod("thread/shellCommand", _shell, ShellParams),
)
