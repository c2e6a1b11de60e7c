"""What a turn's parameters change of a thread, checked against what the administrator allows."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ferrule.approvals import policy_name
from ferrule.permission_profiles import profile_names
from ferrule.policy import named_policy, policy_mode, whole_policy
from ferrule_hookspecs.errors import ConfigError
from ferrule_hookspecs.host import ProfileFacts
from ferrule_hookspecs.policies import APPROVAL_MODES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ferrule.session_parts import Settings
    from ferrule_hookspecs.host import Config
    from ferrule_hookspecs.ops import SettingsUpdateParams, TurnStartParams
    from ferrule_hookspecs.policies import ApprovalPolicy, SandboxPolicy

_GRANULAR_KEYS: Final = ("sandbox_approval", "rules", "mcp_elicitations")


_DEFAULT_TIER: Final = "default"


def changed(
    settings: Settings,
    params: TurnStartParams | SettingsUpdateParams,
    allowed: Mapping[str, Sequence[str]],
    resolve_reviewer: Callable[[str], str],
    config: Mapping[str, object],
) -> Settings:
    """Return the settings with a turn's changes; `config` holds the permission profiles.

    Raises:
        FerruleError: A value makes no sense, or the administrator does not allow it.
    """
    given = params.get("sandboxPolicy")
    sandbox = known_policy(given, config) if given else settings.sandbox_policy
    approval = params.get("approvalPolicy") or settings.approval_policy
    cwd = params.get("cwd") or settings.cwd
    if given:
        check_sandbox_allowed(sandbox, allowed)
    if params.get("approvalPolicy"):
        _check_approval(approval)
        check_allowed("approval_policy", policy_name(approval), allowed)
    if params.get("cwd") and not (os.path.isabs(cwd) and os.path.isdir(cwd)):
        raise ConfigError(f"cwd: {cwd!r} is no folder; name one that exists by its absolute path")
    reviewer = params.get("approvalsReviewer")
    tier = settings.service_tier
    if "serviceTier" in params:
        tier = params["serviceTier"] or _DEFAULT_TIER
    return replace(
        settings,
        model=params.get("model") or settings.model,
        cwd=cwd,
        reasoning_effort=params.get("effort") or settings.reasoning_effort,
        reasoning_summary=params.get("summary") or settings.reasoning_summary,
        approval_policy=approval,
        sandbox_policy=sandbox,
        reviewer=resolve_reviewer(reviewer) if reviewer else settings.reviewer,
        service_tier=tier,
    )


def known_policy(policy: SandboxPolicy, config: Mapping[str, object]) -> SandboxPolicy:
    """Return a policy with what was left out; of a permission profile only the name counts.

    Raises:
        ConfigError: There is no such profile.
    """
    if policy["type"] == "permissionProfile":
        return named_policy(config, policy["id"])
    return whole_policy(policy)


def check_sandbox_allowed(policy: SandboxPolicy, allowed: Mapping[str, Sequence[str]]) -> None:
    """Refuse a sandbox policy that the administrator does not allow.

    Raises:
        ConfigError: It is not allowed.
    """
    if policy["type"] == "permissionProfile" and "default_permissions" in allowed:
        check_allowed("default_permissions", policy["id"], allowed)
    else:
        check_allowed("sandbox_mode", policy_mode(policy), allowed)


def list_profiles(config: Config) -> list[ProfileFacts]:
    """List the permission profiles of a configuration, the built-in ones first."""
    return [_facts(config, name) for name in profile_names(config.values)]


def _facts(config: Config, name: str) -> ProfileFacts:
    policy = named_policy(config.values, name)
    try:
        check_sandbox_allowed(policy, config.allowed)
        is_allowed = True
    except ConfigError:
        is_allowed = False
    if policy["type"] != "permissionProfile":
        return ProfileFacts(name, is_allowed=is_allowed)
    return ProfileFacts(name, policy.get("description"), policy.get("extends"), is_allowed)


def check_allowed(key: str, value: str, allowed: Mapping[str, Sequence[str]]) -> None:
    """Refuse what the administrator's `requirements.toml` does not list.

    Raises:
        ConfigError: It does not list the value.
    """
    choices = allowed.get(key)
    if choices is not None and value not in choices:
        raise ConfigError(
            f"`{key}` cannot be {value!r}: the administrator allows only"
            f" {', '.join(choices) or 'nothing'} (requirements.toml)"
        )


def _check_approval(policy: ApprovalPolicy) -> None:
    if isinstance(policy, str):
        if policy not in APPROVAL_MODES:
            names = ", ".join(APPROVAL_MODES)
            raise ConfigError(f"approval_policy is {policy!r}; it must be one of {names}")
        return
    missing = [key for key in _GRANULAR_KEYS if key not in policy.get("granular", {})]
    if missing:
        raise ConfigError(f"approval_policy: `granular` must say {', '.join(missing)}")
