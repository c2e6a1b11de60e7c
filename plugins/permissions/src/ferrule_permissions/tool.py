"""The tool `request_permissions`: the model asks for what the calls that follow will need."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, cast

from ferrule_hookspecs.errors import ToolArgumentError
from ferrule_hookspecs.permissions import (
    PERMISSIONS_SCHEMA,
    AdditionalPermissions,
    parse_permissions,
)
from ferrule_hookspecs.tools import (
    FunctionSchema,
    Requirement,
    Tool,
    ToolCall,
    ToolContext,
    ToolResult,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ferrule_hookspecs.sandbox import ResolvedPolicy
    from ferrule_hookspecs.tools import SandboxSession

_PARAMETERS: Final[dict[str, object]] = {
    "type": "object",
    "properties": {
        "permissions": {
            **PERMISSIONS_SCHEMA,
            "description": "The network, folders to write, hidden paths to read.",
        },
        "reason": {"type": "string", "description": "One question to the user, why."},
    },
    "required": ["permissions"],
    "additionalProperties": False,
}


class RequestPermissions(Tool):
    """Has the kernel ask; what is accepted holds for the calls that follow."""

    name = "request_permissions"
    description = (
        "Asks the user for more than the sandbox allows, for all calls that follow in this turn. "
        "The user may grant it for the session. Ask for no more than the task needs."
    )
    read_only = True

    def is_enabled(self) -> bool:
        """Off unless `[features] request_permissions_tool = true`."""
        return self.context.table("features").get("request_permissions_tool") is True

    def schema(self) -> FunctionSchema:
        """What is asked for, and why."""
        return FunctionSchema(self.name, self.description, _PARAMETERS)

    def normalize(self, arguments: Mapping[str, object]) -> Mapping[str, object]:
        """Check what is asked for; fields nobody knows are left out."""
        reason = arguments.get("reason")
        if reason is not None and not isinstance(reason, str):
            raise ToolArgumentError("failed to parse function arguments: reason: expected a string")
        permissions = arguments.get("permissions")
        parse_permissions("permissions", permissions, "/")  # the folder is known when it is asked
        return {"permissions": permissions, "reason": reason}

    def requirement(self, call: ToolCall, sandbox: SandboxSession) -> Requirement:
        """Everything that the sandbox does not allow yet."""
        reason = cast("str", call.arguments["reason"] or "the calls that follow need more")
        permissions = _asked(call, sandbox.policy.cwd)
        return Requirement(reason=reason, permissions=permissions, lasting=True)

    async def run(self, call: ToolCall, context: ToolContext) -> ToolResult:
        """Tell the model what it may now do; the kernel has kept the grant."""
        asked, policy = _asked(call, context.cwd), context.sandbox.policy
        granted = asked if policy.unconfined else _allowed(asked, policy)
        answer = f"Granted, until the end of this turn at least: {granted.summary}"
        rest = AdditionalPermissions(
            asked.network and not granted.network,
            tuple(path for path in asked.read if path not in granted.read),
            tuple(path for path in asked.write if path not in granted.write),
        )
        return ToolResult(f"{answer}. Not granted: {rest.summary}" if any(rest) else answer)


def _allowed(asked: AdditionalPermissions, policy: ResolvedPolicy) -> AdditionalPermissions:
    """What of it the sandbox allows now."""
    return AdditionalPermissions(
        asked.network and policy.network,
        tuple(path for path in asked.read if not _is_in(path, policy.deny_read)),
        tuple(
            path
            for path in asked.write
            if _is_in(path, [root.path for root in policy.writable_roots])
        ),
    )


def _is_in(path: str, folders: Sequence[str]) -> bool:
    real = os.path.realpath(path)
    return any(real == folder or real.startswith(folder.rstrip("/") + "/") for folder in folders)


def _asked(call: ToolCall, cwd: str) -> AdditionalPermissions:
    return parse_permissions("permissions", call.arguments["permissions"], cwd)
