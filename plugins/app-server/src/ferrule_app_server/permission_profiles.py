"""Permission profiles, which clients may name in place of a sandbox."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from ferrule_hookspecs.serving import RpcError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ferrule_hookspecs.host import Config, Kernel
    from ferrule_hookspecs.policies import SandboxPolicy


def named_profile(params: Mapping[str, object], sandbox_key: str) -> str | None:
    """Return the profile that `permissions` names; None where it is absent.

    Raises:
        RpcError: A sandbox is named beside it.
    """
    profile = cast("str | None", params.get("permissions"))
    if profile is not None and params.get(sandbox_key) is not None:
        raise RpcError(f"`permissions` cannot be combined with `{sandbox_key}`")
    return profile


def policy_of(name: str) -> SandboxPolicy:
    """Return the policy that a profile is; the kernel knows what it says."""
    return {"type": "permissionProfile", "id": name}


def check_profile(kernel: Kernel, config: Config, name: str) -> None:
    """Refuse a profile that does not exist.

    Raises:
        RpcError: There is none of that name.
    """
    known = [profile.id for profile in kernel.permission_profiles(config)]
    if name not in known:
        raise RpcError(f"unknown permission profile {name!r}; there are {', '.join(known)}")
