"""The built-in permission profiles that clients may name in place of a sandbox."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final, cast

from ferrule_hookspecs.serving import RpcError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ferrule_hookspecs.policies import SandboxMode, SandboxPolicy

PROFILES: Final[Mapping[str, SandboxMode]] = MappingProxyType(
    {
        ":read-only": "read-only",
        ":workspace": "workspace-write",
        ":danger-full-access": "danger-full-access",
    }
)
"""Profile ids and the sandbox modes they stand for."""

_POLICIES: Final[Mapping[str, SandboxPolicy]] = MappingProxyType(
    {
        "read-only": {"type": "readOnly"},
        "workspace-write": {"type": "workspaceWrite"},
        "danger-full-access": {"type": "dangerFullAccess"},
    }
)


def mode_of(params: Mapping[str, object], sandbox_key: str) -> SandboxMode | None:
    """Return the sandbox mode that `permissions` names; None where it is absent.

    Raises:
        RpcError: There is no such profile, or a sandbox is named beside it.
    """
    profile = cast("str | None", params.get("permissions"))
    if profile is None:
        return None
    if params.get(sandbox_key) is not None:
        raise RpcError(f"`permissions` cannot be combined with `{sandbox_key}`")
    if profile not in PROFILES:
        raise RpcError(f"unknown permission profile {profile!r}; there are {', '.join(PROFILES)}")
    return PROFILES[profile]


def policy_of(mode: SandboxMode) -> SandboxPolicy:
    """Return the policy that a mode stands for."""
    return _POLICIES[mode]
