"""The one resolver of sandbox policies.

`resolve_policy` turns what clients name into what it means on this machine, for every command anew,
because commands change the workspace. What the result allows is said by `decide` of
`ferrule_hookspecs.evaluator`.
"""

from __future__ import annotations

import os
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, cast

from ferrule.agentignore import files_above, find_ignored, with_files_kept
from ferrule.bounds import with_bounds, with_profile_bounds
from ferrule.path_patterns import matching_paths
from ferrule.permission_profiles import BUILT_IN, profile_mode, read_profile
from ferrule.profile_resolution import resolve_files
from ferrule.protected_places import nested_ignore_files
from ferrule.secret_places import secret_places
from ferrule.writable_roots import Writable, existing_folders, profile_roots, protected_roots
from ferrule_hookspecs.errors import ConfigError
from ferrule_hookspecs.evaluator import is_inside
from ferrule_hookspecs.policies import (
    SANDBOX_MODES,
    PermissionProfile,
    SandboxMode,
    SandboxPolicy,
    WorkspaceWrite,
)
from ferrule_hookspecs.sandbox import ResolvedPolicy

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from ferrule.profile_resolution import ProfileFiles

_MODES: Final[Mapping[str, SandboxMode]] = {
    "readOnly": "read-only",
    "workspaceWrite": "workspace-write",
    "dangerFullAccess": "danger-full-access",
    "externalSandbox": "external-sandbox",
}


def mode_to_policy(values: Mapping[str, object], mode: SandboxMode | None) -> SandboxPolicy:
    """Turn configuration into a policy; `mode` beats what is configured, profiles included.

    Raises:
        ConfigError: The configured mode or permission profile is unknown.
    """
    profile = values.get("default_permissions")
    if mode is None and isinstance(profile, str):
        return named_policy(values, profile)
    chosen = mode or values.get("sandbox_mode", "read-only")
    if chosen == "danger-full-access":
        return {"type": "dangerFullAccess"}
    if chosen == "external-sandbox":
        return {"type": "externalSandbox"}
    if chosen == "read-only":
        return {"type": "readOnly", "networkAccess": False}
    if chosen != "workspace-write":
        raise ConfigError(
            f"sandbox_mode is {chosen!r}; it must be one of {', '.join(SANDBOX_MODES)}"
        )
    table = cast("Mapping[str, object]", values.get("sandbox_workspace_write") or {})
    roots = cast("Sequence[str]", table.get("writable_roots") or ())
    return {
        "type": "workspaceWrite",
        "writableRoots": [os.path.expanduser(root) for root in roots],
        "networkAccess": bool(table.get("network_access", False)),
        "excludeTmpdirEnvVar": bool(table.get("exclude_tmpdir_env_var", False)),
        "excludeSlashTmp": bool(table.get("exclude_slash_tmp", False)),
    }


def named_policy(values: Mapping[str, object], name: str) -> SandboxPolicy:
    """Return the policy that a permission profile is.

    Raises:
        ConfigError: There is no such profile, or it makes no sense.
    """
    if name in BUILT_IN:
        return mode_to_policy(values, BUILT_IN[name])
    return read_profile(values, name)


def whole_policy(policy: SandboxPolicy) -> SandboxPolicy:
    """Fill in what a client left out, so that all clients read the same."""
    match policy["type"]:
        case "readOnly":
            return {"networkAccess": False, **policy}
        case "externalSandbox":
            return {"networkAccess": "restricted", **policy}
        case "workspaceWrite":
            return {
                "writableRoots": [],
                "networkAccess": False,
                "excludeTmpdirEnvVar": False,
                "excludeSlashTmp": False,
                **policy,
            }
        case _:
            return policy


def policy_mode(policy: SandboxPolicy) -> SandboxMode:
    """Name the mode of a policy, or the one a permission profile comes closest to.

    Raises:
        ConfigError: The policy is of an unknown type.
    """
    if policy["type"] == "permissionProfile":
        return profile_mode(policy)
    mode = _MODES.get(policy["type"])
    if mode is None:
        known = ", ".join(_MODES)
        raise ConfigError(f"the sandbox policy {policy['type']!r} is unknown; use one of {known}")
    return mode


def resolve_policy(
    policy: SandboxPolicy,
    cwd: str,
    *,
    environ: Mapping[str, str],
    home: Path,
    extra_roots: Sequence[str] = (),
    deny_read: Sequence[str] = (),
    config: Mapping[str, object] = MappingProxyType({}),
) -> ResolvedPolicy:
    """Say what a policy means for commands in `cwd` at this moment.

    Args:
        policy: What the client asks for.
        cwd: The working directory.
        environ: The environment of the kernel, for the home and temporary folders.
        home: `$FERRULE_HOME`, where the credentials and settings of Ferrule lie.
        extra_roots: More folders that may be written in workspace-write mode.
        deny_read: Paths and glob patterns that must not be read, beside the usual credentials.
        config: The effective configuration, for what holds in every mode.

    Raises:
        ConfigError: The policy is of an unknown type, or cannot be enforced as it is written.
    """
    mode = policy_mode(policy)
    where = os.path.realpath(cwd)
    if policy["type"] == "dangerFullAccess" or policy["type"] == "externalSandbox":
        return ResolvedPolicy(mode=mode, cwd=where, network=True, unconfined=True)
    secrets = secret_places(environ, home)
    patterns = (*cast("Sequence[str]", config.get("sandbox_deny_read") or ()), *deny_read)
    resolved = ResolvedPolicy(
        mode=mode,
        cwd=where,
        deny_read=matching_paths(patterns, where),
        network=bool(policy.get("networkAccess", False)),
    )
    resolved = with_bounds(resolved, config)
    writable = Writable()
    if policy["type"] == "permissionProfile":
        files = resolve_files(
            policy, where, environ=environ, extra_roots=extra_roots, secrets=secrets
        )
        writable = profile_roots(files, home)
        resolved = _with_profile(resolved, policy, files, home)
    else:
        resolved = resolved._replace(deny_read=(*secrets, *resolved.deny_read))
        if policy["type"] == "workspaceWrite":
            writable = _mode_roots(policy, where, environ, home, extra_roots)
    return _with_ignored(resolved, writable)


def _mode_roots(
    policy: WorkspaceWrite,
    cwd: str,
    environ: Mapping[str, str],
    home: Path,
    extra_roots: Sequence[str],
) -> Writable:
    named = [cwd, *policy.get("writableRoots", ()), *extra_roots]
    scratch: list[str] = []
    if not policy.get("excludeSlashTmp", False):
        scratch.append("/tmp")  # noqa: S108  # what the policy grants, not where we write
    if not policy.get("excludeTmpdirEnvVar", False):
        scratch.append(environ.get("TMPDIR", ""))
    workspaces = existing_folders(os.path.join(cwd, root) for root in named)
    temporary = existing_folders(filter(os.path.isabs, scratch))
    return protected_roots(workspaces, [root for root in temporary if root not in workspaces], home)


def _with_profile(
    base: ResolvedPolicy, profile: PermissionProfile, files: ProfileFiles, home: Path
) -> ResolvedPolicy:
    settings = os.path.realpath(home)
    own = [path for path in files.secrets if is_inside(path, settings)]
    return with_profile_bounds(
        base._replace(
            deny_read=tuple(dict.fromkeys((*own, *files.deny_read, *base.deny_read))),
            readable_roots=files.readable_roots,
            unix_sockets=tuple(map(os.path.realpath, profile.get("unixSockets", ()))),
        ),
        profile,
    )


def _with_ignored(policy: ResolvedPolicy, writable: Writable) -> ResolvedPolicy:
    """Put the folders that may be written into a policy, and what `.agentignore` files say."""
    files = [*files_above(policy.cwd), *writable.ignore_files]
    if not any(is_inside(policy.cwd, root.path) for root in writable.roots):
        files += nested_ignore_files(policy.cwd)
    ignored = find_ignored(files)
    mode = policy.mode
    if mode == "workspace-write" and not writable.roots:
        mode = "read-only"  # what a permission profile lets be written is not there
    denied = tuple(dict.fromkeys((*policy.deny_read, *ignored.places)))
    if policy.readable_roots is not None:
        shown = (*policy.readable_roots, *(root.path for root in writable.roots))
        denied = tuple(path for path in denied if any(is_inside(path, root) for root in shown))
    return policy._replace(
        mode=mode,
        writable_roots=with_files_kept(writable.roots, ignored.files),
        deny_read=denied,
    )
