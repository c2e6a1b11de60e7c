"""Answers that are true and harmless where no plugin has better ones.

Clients ask for these at start-up or when a thread is opened, whether anybody uses them or not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from ferrule_app_server.thread_params import FoldersParams, ThreadIdParams
from ferrule_hookspecs.serving import RpcCall, RpcError, RpcMethod

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

_NO_PAGE: Final[Mapping[str, object]] = {"data": [], "nextCursor": None}


def _always(reply: Mapping[str, object]) -> Callable[[RpcCall], Awaitable[Mapping[str, object]]]:
    async def answer(call: RpcCall) -> Mapping[str, object]:
        return reply

    return answer


async def _rate_limits(call: RpcCall) -> Mapping[str, object]:
    raise RpcError("codex account authentication required to read rate limits")


async def _hooks(call: RpcCall) -> Mapping[str, object]:
    folders = call.params.get("cwds") or [call.request.cwd]
    empty = {"hooks": [], "warnings": [], "errors": []}
    return {"data": [{"cwd": folder, **empty} for folder in cast("list[str]", folders)]}


async def _skills(call: RpcCall) -> Mapping[str, object]:
    folders = call.params.get("cwds") or [call.request.cwd]
    empty: Mapping[str, object] = {"skills": [], "errors": []}
    return {"data": [{"cwd": folder, **empty} for folder in cast("list[str]", folders)]}


METHODS = (
    RpcMethod("hooks/list", _hooks, FoldersParams),
    RpcMethod("skills/list", _skills, FoldersParams),
    RpcMethod("account/read", _always({"account": None, "requiresOpenaiAuth": False})),
    RpcMethod("account/rateLimits/read", _rate_limits),
    RpcMethod("mcpServerStatus/list", _always(_NO_PAGE)),
    RpcMethod("config/mcpServer/reload", _always({})),
    RpcMethod("thread/goal/get", _always({"goal": None}), ThreadIdParams),
    RpcMethod("thread/goal/clear", _always({"cleared": False}), ThreadIdParams),
    RpcMethod("thread/queue/list", _always(_NO_PAGE), ThreadIdParams),
    RpcMethod("thread/attachment/list", _always(_NO_PAGE)),
    RpcMethod("thread/backgroundTerminals/list", _always(_NO_PAGE), ThreadIdParams),
    RpcMethod("thread/backgroundTerminals/clean", _always({}), ThreadIdParams),
    RpcMethod("plugin/list", _always({"marketplaces": [], "marketplaceLoadErrors": []})),
    RpcMethod("plugin/installed", _always({"marketplaces": [], "marketplaceLoadErrors": []})),
    RpcMethod("app/list", _always(_NO_PAGE)),
    RpcMethod("app/installed", _always({"apps": []})),
    RpcMethod("project/list", _always(_NO_PAGE)),
    RpcMethod("threadSection/list", _always(_NO_PAGE)),
)
