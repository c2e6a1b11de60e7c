"""From the parameters of a client to how a thread is opened."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, cast

from ferrule_app_server import wire_names
from ferrule_app_server.permission_profiles import named_profile
from ferrule_hookspecs.errors import ConfigError
from ferrule_hookspecs.host import ThreadOptions
from ferrule_hookspecs.serving import RpcError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ferrule_app_server.server import AppServer
    from ferrule_hookspecs.host import Session
    from ferrule_hookspecs.threads import Thread, Turn

_KEYS: Final = {
    "model": "model",
    "modelProvider": "model_provider",
    "approvalPolicy": "approval_policy",
    "approvalsReviewer": "approvals_reviewer",
    "sandbox": "sandbox_mode",
    "serviceTier": "service_tier",
}


def options_for(
    server: AppServer, params: Mapping[str, object], *, cwd: str | None = None
) -> ThreadOptions:
    """Return how a thread is to be opened. A project is not trusted by this.

    Args:
        server: The server.
        params: Parameters of `thread/start`, `thread/resume` or `thread/fork`.
        cwd: The working directory where the parameters name none.

    Raises:
        RpcError: The configuration is wrong, or something is asked for that does not exist.
    """
    named = cast("str | None", params.get("cwd")) or cwd or server.request.cwd
    roots = cast("list[str] | None", params.get("runtimeWorkspaceRoots")) or []
    if any("\0" in path for path in (named, *roots)):
        raise RpcError("Invalid request: a path cannot hold a NUL character")
    folder = os.path.abspath(os.path.join(server.request.cwd, named))
    request = server.request._replace(
        cwd=folder, flags=_with(server.request.flags, _flags(params)), trust_project=False
    )
    try:
        config = server.kernel.config(request)
    except ConfigError as error:
        raise RpcError(f"failed to load configuration: {error}") from error
    _check_reviewer(server, params)
    tools = cast("list[Mapping[str, object]] | None", params.get("dynamicTools"))
    from ferrule_app_server.client_tools import client_tools

    return ThreadOptions(
        config=config,
        cwd=folder,
        source=wire_names.APP_SERVER,
        ephemeral=params.get("ephemeral") is True,
        can_answer=True,
        extra_roots=[root for root in roots if root != folder],
        base_instructions=cast("str | None", params.get("baseInstructions")),
        developer_instructions=cast("str | None", params.get("developerInstructions")),
        tools=client_tools(tools) if tools else None,
        wants_diff=True,
        on_child=server.adopt,
    )


def opened(session: Session, thread: Thread) -> dict[str, object]:
    """Describe an open thread, as replies to opening it do."""
    facts = session.facts
    return {
        "thread": thread,
        "model": facts.model,
        "modelProvider": facts.model_provider,
        "serviceTier": facts.service_tier,
        "cwd": facts.cwd or thread["cwd"],
        "runtimeWorkspaceRoots": [facts.cwd or thread["cwd"], *facts.writable_roots],
        "instructionSources": list(facts.instruction_sources),
        "approvalPolicy": wire_names.approval_policy(facts.approval_policy),
        "approvalsReviewer": wire_names.reviewer(facts.reviewer),
        "sandbox": wire_names.sandbox(facts.sandbox_policy),
        "activePermissionProfile": wire_names.profile(facts.sandbox_policy),
        "reasoningEffort": facts.reasoning_effort,
    }


def continued(session: Session, turns: Sequence[Turn]) -> dict[str, object]:
    """Describe what a client that resumes a thread needs beside what opening it tells."""
    facts = session.facts
    return {
        "collaborationMode": {
            "mode": "default",
            "settings": {
                "model": facts.model,
                "reasoning_effort": facts.reasoning_effort,
                "developer_instructions": None,
            },
        },
        **cursors(turns),
    }


def cursors(turns: Sequence[Turn]) -> dict[str, object]:
    """Say where a client that reads backwards begins."""
    last = turns[-1] if turns else None
    item = last["items"][-1]["id"] if last is not None and last["items"] else None
    return {
        "turnsBackwardsCursor": None if last is None else last["id"],
        "itemsBackwardsCursor": None if last is None or item is None else f"{last['id']}/{item}",
    }


def _flags(params: Mapping[str, object]) -> dict[str, object]:
    flags = dict(cast("Mapping[str, object] | None", params.get("config")) or {})
    for name, key in _KEYS.items():
        if params.get(name) is not None:
            flags[key] = params[name]
    profile = named_profile(params, "sandbox")
    if profile is not None:
        flags["default_permissions"] = profile
    return flags


def _with(base: Mapping[str, object], flags: Mapping[str, object]) -> dict[str, object]:
    """Lay a client's wishes over the server's own; of two ways to say one thing the client's."""
    ways = ("sandbox_mode", "default_permissions")
    kept = base if not set(ways) & set(flags) else {k: base[k] for k in base if k not in ways}
    return {**kept, **flags}


def _check_reviewer(server: AppServer, params: Mapping[str, object]) -> None:
    reviewer = cast("str | None", params.get("approvalsReviewer"))
    if reviewer is None:
        return
    names = server.kernel.reviewers(server.config())
    if reviewer.partition(":")[0] not in names:
        listed = ", ".join(f"`{name}`" for name in names)
        raise RpcError(f"Invalid request: unknown variant `{reviewer}`, expected one of {listed}")
