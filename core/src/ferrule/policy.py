"""The one resolver of sandbox policies.

`resolve_policy` turns what clients name into what it means on this machine, for every command anew,
because commands change the workspace. What the result allows is said by `decide` of
`ferrule_hookspecs.evaluator`.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, cast

from ferrule.git_places import protect_git_folder
from ferrule.places import Places
from ferrule.protected_places import find_places, find_scratch_places
from ferrule.secret_places import matching_paths, secret_places
from ferrule_hookspecs.errors import ConfigError
from ferrule_hookspecs.evaluator import is_inside
from ferrule_hookspecs.policies import (
    SANDBOX_MODES,
    SandboxMode,
    SandboxPolicy,
    WorkspaceWrite,
)
from ferrule_hookspecs.sandbox import ResolvedPolicy, WritableRoot

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

_MAX_PROCESSES: Final = 1024
_MODES: Final[Mapping[str, SandboxMode]] = {
    "readOnly": "read-only",
    "workspaceWrite": "workspace-write",
    "dangerFullAccess": "danger-full-access",
    "externalSandbox": "external-sandbox",
}


def mode_to_policy(values: Mapping[str, object], mode: SandboxMode | None) -> SandboxPolicy:
    """Turn configuration into a policy; `mode` beats the configured one.

    Raises:
        ConfigError: The configured mode is unknown.
    """
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
    """Name the mode of a policy.

    Raises:
        ConfigError: The policy is of an unknown type.
    """
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
) -> ResolvedPolicy:
    """Say what a policy means for commands in `cwd` at this moment.

    Args:
        policy: What the client asks for.
        cwd: The working directory.
        environ: The environment of the kernel, for the home and temporary folders.
        home: `$FERRULE_HOME`, where the credentials and settings of Ferrule lie.
        extra_roots: More folders that may be written in workspace-write mode.
        deny_read: Paths and glob patterns that must not be read, beside the usual credentials.

    Raises:
        ConfigError: The policy is of an unknown type.
    """
    mode = policy_mode(policy)
    where = os.path.realpath(cwd)
    if policy["type"] == "dangerFullAccess" or policy["type"] == "externalSandbox":
        return ResolvedPolicy(mode=mode, cwd=where, network=True, unconfined=True)
    roots: tuple[WritableRoot, ...] = ()
    if policy["type"] == "workspaceWrite":
        roots = _writable_roots(policy, where, environ, home, extra_roots)
    return ResolvedPolicy(
        mode=mode,
        cwd=where,
        writable_roots=roots,
        deny_read=(*secret_places(environ, home), *matching_paths(deny_read, where)),
        network=bool(policy.get("networkAccess", False)),
        max_processes=_MAX_PROCESSES,
    )


def _writable_roots(
    policy: WorkspaceWrite,
    cwd: str,
    environ: Mapping[str, str],
    home: Path,
    extra_roots: Sequence[str],
) -> tuple[WritableRoot, ...]:
    named = [cwd, *policy.get("writableRoots", ()), *extra_roots]
    scratch: list[str] = []
    if not policy.get("excludeSlashTmp", False):
        scratch.append("/tmp")  # noqa: S108  # what the policy grants, not where we write
    if not policy.get("excludeTmpdirEnvVar", False):
        scratch.append(environ.get("TMPDIR", ""))
    workspaces = _existing(os.path.join(cwd, root) for root in named)
    found = [find_places(root) for root in workspaces]
    found += [
        find_scratch_places(root)
        for root in _existing(filter(os.path.isabs, scratch))
        if root not in workspaces
    ]
    _add_linked_repositories(found)
    settings = os.path.realpath(home)
    for places in found:
        if is_inside(settings, places.root):
            places.keep(settings)
    return tuple(places.frozen() for places in sorted(found, key=lambda places: places.root))


def _existing(roots: Iterable[str]) -> list[str]:
    """Return the canonical folders among paths, each once."""
    canonical = dict.fromkeys(os.path.realpath(root) for root in roots)
    return [root for root in canonical if os.path.isdir(root)]


def _add_linked_repositories(found: list[Places]) -> None:
    """Open the git folder of a linked worktree's repository, so that commits work there too."""
    folders = dict.fromkeys(folder for places in found for folder in places.outside)
    for folder in folders:
        holder = next((places for places in found if is_inside(folder, places.root)), None)
        if holder is None:
            holder = Places(folder)
            found.append(holder)
        protect_git_folder(holder, folder)
