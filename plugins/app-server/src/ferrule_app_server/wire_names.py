"""Names that the published protocol does not know, as the nearest ones that it does.

Its enums are closed: a client with generated types refuses a whole message for one unknown name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, cast

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ferrule_hookspecs.policies import ApprovalPolicy, SandboxPolicy

_SANDBOX_DEFAULTS: Final[Mapping[str, Mapping[str, object]]] = {
    "readOnly": {"networkAccess": False},
    "workspaceWrite": {
        "writableRoots": [],
        "networkAccess": False,
        "excludeTmpdirEnvVar": False,
        "excludeSlashTmp": False,
    },
}
APP_SERVER: Final = "appServer"
EDITOR: Final = "vscode"
"""What clients call threads of an app-server, and filter by."""
_KINDS: Final = frozenset({"review", "compact"})
"""What may start a thread that works for another, beside the tools for agents."""
_SOURCES: Final = frozenset({"cli", "vscode", "exec", "unknown"})


class Lineage(NamedTuple):
    """Whom a thread works for, how deep below the root, and as what."""

    parent: str | None = None
    depth: int = 0
    nickname: str | None = None
    role: str | None = None


_ROOT: Final = Lineage()


def source(name: str, lineage: Lineage = _ROOT) -> str:
    """Return where a thread came from in a word that clients know, or as the table they know."""
    if name == APP_SERVER:
        return EDITOR
    if lineage.parent is None:
        return name if name in _SOURCES else "unknown"
    kind: object = name if name in _KINDS else {"other": name}
    if name == "subagent":
        kind = {
            "thread_spawn": {
                "parent_thread_id": lineage.parent,
                "depth": lineage.depth,
                "agent_path": None,
                "agent_nickname": lineage.nickname,
                "agent_role": lineage.role,
            }
        }
    return cast("str", {"subAgent": kind})  # the contract knows the plain words only


def sandbox(policy: SandboxPolicy) -> dict[str, object]:
    """Return a sandbox policy with what it leaves to defaults; a profile as the nearest mode."""
    if policy["type"] == "permissionProfile":
        written = [e["path"] for e in policy.get("entries", ()) if e["access"] == "write"]
        network = policy.get("networkAccess", False)
        if not written:
            return {"type": "readOnly", "networkAccess": network}
        return {
            "type": "workspaceWrite",
            "writableRoots": [path for path in written if path.startswith("/")],
            "networkAccess": network,
            "excludeTmpdirEnvVar": ":tmpdir" not in written,
            "excludeSlashTmp": ":slash_tmp" not in written,
        }
    return {**_SANDBOX_DEFAULTS.get(policy["type"], {}), **policy}


def profile(policy: SandboxPolicy) -> dict[str, object] | None:
    """Return which permission profile a policy is; None for a mode."""
    if policy["type"] != "permissionProfile":
        return None
    return {"id": policy["id"], "extends": policy.get("extends")}


def approval_policy(policy: ApprovalPolicy) -> ApprovalPolicy:
    """Return an approval policy that clients know; `on-failure` asks when needed, too."""
    return "on-request" if policy == "on-failure" else policy


def reviewer(name: str) -> str:
    """Return a reviewer in a word that clients know: the user, or one that reviews by itself."""
    return "user" if name == "user" else "auto_review"


def settings(fields: Mapping[str, object]) -> dict[str, object]:
    """Return the settings of a thread with names that clients know."""
    policy = cast("SandboxPolicy", fields["sandboxPolicy"])
    return {
        **fields,
        "approvalPolicy": approval_policy(cast("ApprovalPolicy", fields["approvalPolicy"])),
        "approvalsReviewer": reviewer(str(fields["approvalsReviewer"])),
        "sandboxPolicy": sandbox(policy),
        "activePermissionProfile": profile(policy),
    }
