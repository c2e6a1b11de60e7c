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

from ferrule_hooks.sources import ELSEWHERE, read_handlers
from ferrule_hooks.trust import TrustRules
from ferrule_hookspecs.errors import FerruleError
from ferrule_hookspecs.serving import RpcMethod

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ferrule_hooks.handler import Handler, Standing
    from ferrule_hooks.trust import State
    from ferrule_hookspecs.plugins import PluginContext
    from ferrule_hookspecs.serving import RpcCall

_ORDER: Final = (
    *("PreModelRequest", "PostModelRequest", "PreToolUse", "PermissionRequest", "PostToolUse"),
    *("PreCompact", "PostCompact", "SessionStart", "SessionEnd", "UserPromptSubmit"),
    *("SubagentStart", "SubagentStop", "Stop", "Interrupt"),
)
"""The events that the protocol has a name for, in its order."""
_STATUS: Final[Mapping[State, Literal["untrusted", "trusted", "modified"]]] = {
    "trusted": "trusted",
    "untrusted": "untrusted",
    "changed": "modified",
    "off": "untrusted",
}


_SOURCES: Final[Mapping[Standing, Literal["system", "user", "project"]]] = {
    "administrator": "system",
    "user": "user",
    "project": "project",
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
        if handler.event not in _ORDER
    ]
    entry["hooks"] = [
        _told(handler, number, rules.state(handler), here)
        for number, handler in enumerate(_in_order(handlers))
    ]
    return entry


def _in_order(handlers: Sequence[Handler]) -> list[Handler]:
    """Sort hooks by file, and within it by event, as clients show them."""
    files = list(dict.fromkeys(handler.source for handler in handlers))
    told = [handler for handler in handlers if handler.event in _ORDER]
    return sorted(told, key=lambda each: (files.index(each.source), _ORDER.index(each.event)))


def _told(handler: Handler, number: int, state: State, context: PluginContext) -> Hook:
    source = handler.source
    is_managed = source.standing == "administrator"
    is_elsewhere = source.file == ELSEWHERE
    hook: Hook = {
        "key": handler.key,
        "eventName": handler.event[0].lower() + handler.event[1:],
        "handlerType": "command",
        "matcher": handler.matcher,
        "timeoutSec": math.ceil(handler.timeout_s),
        "statusMessage": None,
        "source": "sessionFlags" if is_elsewhere else _SOURCES[source.standing],
        "sourcePath": str(context.home / "config.toml") if is_elsewhere else source.file,
        "displayOrder": number,
        "enabled": state != "off",
        "isManaged": is_managed,
        "currentHash": handler.trust_hash(),
        "trustStatus": "managed" if is_managed else _STATUS[state],
    }
    if handler.kind in ("prompt", "agent"):
        hook["handlerType"] = handler.kind
    elif handler.kind == "mcp_tool":
        server, _, tool = handler.target.removeprefix("mcp__").partition("__")
        hook["handlerType"], hook["server"], hook["tool"] = "mcpTool", server, tool
    else:
        # Requests and functions are told as what stands in the place of a command line.
        hook["command"] = " ".join([handler.target, *(handler.args or ())])
        hook["async"] = handler.is_async
    return hook
