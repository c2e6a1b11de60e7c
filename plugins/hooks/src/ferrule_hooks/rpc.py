"""`hooks/list` for servers: every hook with its hash and whether it may run.

What a client writes to `hooks.state.KEY.trusted_hash` is the hash it was told here.
"""

from __future__ import annotations

import math
import os
from functools import partial
from typing import TYPE_CHECKING, Final, Literal, NotRequired, cast

from anyio.to_thread import run_sync
from typing_extensions import TypedDict

from ferrule_hooks.display import (
    event_name,
    handler_type,
    in_order,
    is_shown,
    source_name,
    source_path,
)
from ferrule_hooks.sources import read_handlers
from ferrule_hooks.trust import TrustRules
from ferrule_hookspecs.errors import FerruleError
from ferrule_hookspecs.serving import RpcMethod

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ferrule_hooks.handler import Handler
    from ferrule_hooks.trust import State
    from ferrule_hookspecs.plugins import PluginContext
    from ferrule_hookspecs.serving import RpcCall

_STATUS: Final[Mapping[State, Literal["untrusted", "trusted", "modified"]]] = {
    "trusted": "trusted",
    "untrusted": "untrusted",
    "changed": "modified",
    "off": "untrusted",
}


class HooksListParams(TypedDict):
    """The folders in question; the server's own where none is named."""

    cwds: NotRequired[list[str] | None]
    threadId: NotRequired[str | None]


Hook = TypedDict(
    "Hook",
    {
        "key": str,
        "eventName": str,
        "handlerType": Literal["command", "mcpTool", "prompt", "agent"],
        "command": NotRequired[str],
        "async": NotRequired[bool],
        "server": NotRequired[str],
        "tool": NotRequired[str],
        "matcher": str | None,
        "timeoutSec": int,
        "statusMessage": None,
        "source": Literal["system", "user", "project", "sessionFlags"],
        "sourcePath": str,
        "displayOrder": int,
        "enabled": bool,
        "isManaged": bool,
        "currentHash": str,
        "trustStatus": Literal["managed", "untrusted", "trusted", "modified"],
    },
)
"""A hook; `currentHash` is what trust is given to."""


class HookError(TypedDict):
    """A file that cannot be read."""

    path: str
    message: str


class HooksEntry(TypedDict):
    """The hooks for one folder, and what does not run there."""

    cwd: str
    hooks: list[Hook]
    warnings: list[str]
    errors: list[HookError]


class HooksListResult(TypedDict):
    """The hooks by folder."""

    data: list[HooksEntry]


def methods(context: PluginContext) -> Sequence[RpcMethod]:
    """Return the methods of this plugin."""

    async def answer(call: RpcCall) -> Mapping[str, object]:
        asked = cast("Sequence[str] | None", call.params.get("cwds")) or [call.request.cwd]
        return {"data": [await run_sync(partial(_entry, context, call, cwd)) for cwd in asked]}

    return [RpcMethod("hooks/list", answer, HooksListParams, result=HooksListResult)]


def _entry(context: PluginContext, call: RpcCall, asked: str) -> HooksEntry:
    cwd = os.path.normpath(os.path.join(call.request.cwd, asked))
    config = call.kernel.config(call.request._replace(cwd=cwd))
    warnings: list[str] = []
    here = context._replace(
        config=config.values,
        cwd=cwd,
        project_root=config.project_root,
        is_trusted=config.is_trusted,
        warn=warnings.append,
    )
    entry: HooksEntry = {"cwd": asked, "hooks": [], "warnings": warnings, "errors": []}
    try:
        rules = TrustRules(here)
    except FerruleError as error:
        entry["errors"].append({"path": str(here.home), "message": str(error)})
        return entry
    handlers = read_handlers(here)
    warnings += [
        f"{handler.place}: a hook of this event cannot be shown here"
        for handler in handlers
        if not is_shown(handler)
    ]
    entry["hooks"] = [
        _told(handler, number, rules.state(handler), here)
        for number, handler in enumerate(in_order(handlers))
    ]
    return entry


def _told(handler: Handler, number: int, state: State, context: PluginContext) -> Hook:
    is_managed = handler.source.standing == "administrator"
    hook: Hook = {
        "key": handler.key,
        "eventName": event_name(handler),
        "handlerType": handler_type(handler),
        "matcher": handler.matcher,
        "timeoutSec": math.ceil(handler.timeout_s),
        "statusMessage": None,
        "source": source_name(handler),
        "sourcePath": source_path(handler, context.home),
        "displayOrder": number,
        "enabled": state != "off",
        "isManaged": is_managed,
        "currentHash": handler.trust_hash(),
        "trustStatus": "managed" if is_managed else _STATUS[state],
    }
    if hook["handlerType"] == "mcpTool":
        server, _, tool = handler.target.removeprefix("mcp__").partition("__")
        hook["server"], hook["tool"] = server, tool
    elif hook["handlerType"] == "command":
        # Requests and functions are told as what stands in the place of a command line.
        hook["command"] = " ".join([handler.target, *(handler.args or ())])
        hook["async"] = handler.is_async
    return hook
