"""What a stored thread was left with: its settings, its name, and what a listing shows of it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from ferrule.approvals import policy_name
from ferrule.thread_summary import PREVIEW_LIMIT, user_text
from ferrule.turn_settings import check_allowed, check_sandbox_allowed, known_policy

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ferrule.session_parts import Settings
    from ferrule_hookspecs.host import Config
    from ferrule_hookspecs.policies import ApprovalPolicy, SandboxPolicy
    from ferrule_hookspecs.store import RolloutRecord

_FLAG: Final = "flag"
_SANDBOX_KEYS: Final = ("sandbox_mode", "sandbox_workspace_write", "default_permissions")


class StoredFacts(NamedTuple):
    """What a listing shows of a stored thread."""

    name: str | None = None
    preview: str = ""
    created_at: int | None = None
    forked_from: str | None = None


def stored_facts(records: Sequence[RolloutRecord]) -> StoredFacts:
    """Read what a listing shows of a thread."""
    if not records:
        return StoredFacts()
    from datetime import datetime

    meta = records[0]["payload"]
    name, preview = _text(meta.get("name")), ""
    for record in records:
        payload = record["payload"]
        if record["type"] != "event_msg":
            continue
        if payload.get("type") == "thread_name":
            name = _text(payload.get("name"))
        elif payload.get("type") == "item_completed" and not preview:
            preview = user_text(payload.get("item"))[:PREVIEW_LIMIT]
    try:
        created = int(datetime.fromisoformat(str(meta.get("timestamp"))).timestamp())
    except ValueError:
        created = None
    return StoredFacts(name, preview, created, _text(meta.get("forked_from_id")))


def read_settings(records: Sequence[RolloutRecord], provider: str) -> Mapping[str, object]:
    """Return the settings a thread was left with.

    Without its model where that belongs to another provider.
    """
    found: dict[str, object] = {}
    origin = ""
    for record in records:
        payload = record["payload"]
        if record["type"] == "session_meta":
            origin = origin or str(payload.get("model_provider"))
        elif record["type"] == "turn_context" or payload.get("type") == "thread_settings":
            found = payload
    if origin == provider:
        return found
    return {key: value for key, value in found.items() if key not in ("model", "effort")}


def inherited(
    settings: Settings,
    stored: Mapping[str, object],
    config: Config,
    resolve_reviewer: Callable[[str], str],
) -> Settings:
    """Return the settings of a thread that goes on as it was left, flags excepted.

    Raises:
        FerruleError: It was left with what the administrator does not allow any more.
    """

    def kept(key: str, *keys: str) -> object:
        """What is stored, unless a flag says something else."""
        is_said = any(config.origin(each).layer == _FLAG for each in keys)
        return None if is_said else stored.get(key)

    sandbox = cast("SandboxPolicy | None", kept("sandbox_policy", *_SANDBOX_KEYS))
    approval = cast("ApprovalPolicy | None", kept("approval_policy", "approval_policy"))
    if not isinstance(approval, (str, dict)):
        approval = None
    if isinstance(sandbox, dict) and "type" in sandbox:
        sandbox = known_policy(sandbox, config.values)
        check_sandbox_allowed(sandbox, config.allowed)
    else:
        sandbox = None
    if approval is not None:
        check_allowed("approval_policy", policy_name(approval), config.allowed)
    reviewer = _text(kept("approvals_reviewer", "approvals_reviewer"))
    summary = _text(kept("summary", "model_reasoning_summary"))
    return replace(
        settings,
        model=_text(kept("model", "model")) or settings.model,
        reasoning_effort=_text(kept("effort", "model_reasoning_effort"))
        or settings.reasoning_effort,
        reasoning_summary=settings.reasoning_summary if summary in (None, "none") else summary,
        approval_policy=approval or settings.approval_policy,
        sandbox_policy=sandbox or settings.sandbox_policy,
        reviewer=resolve_reviewer(reviewer) if reviewer else settings.reviewer,
        service_tier=_text(kept("service_tier", "service_tier")) or settings.service_tier,
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
