"""Approval and sandbox policies as clients name them (app-server v2 wire form).

What a policy means for one command on this machine is `ResolvedPolicy` in `sandbox.py`.
"""

from __future__ import annotations

from typing import Final, Literal, NotRequired, get_args

from typing_extensions import TypedDict

SandboxMode = Literal["read-only", "workspace-write", "danger-full-access", "external-sandbox"]
SANDBOX_MODES: Final[tuple[SandboxMode, ...]] = get_args(SandboxMode)


class GranularApproval(TypedDict):
    """Which kinds of question may be asked; what is false is denied without asking."""

    sandbox_approval: bool
    rules: bool
    mcp_elicitations: bool
    request_permissions: NotRequired[bool]
    skill_approval: NotRequired[bool]


class GranularPolicy(TypedDict):
    """The `granular` form of an approval policy."""

    granular: GranularApproval


ApprovalMode = Literal["untrusted", "on-failure", "on-request", "never"]
APPROVAL_MODES: Final[tuple[ApprovalMode, ...]] = get_args(ApprovalMode)
ApprovalPolicy = ApprovalMode | GranularPolicy


class DangerFullAccess(TypedDict):
    """No sandbox at all."""

    type: Literal["dangerFullAccess"]


class ReadOnly(TypedDict):
    """Everything may be read, nothing written."""

    type: Literal["readOnly"]
    networkAccess: NotRequired[bool]


class ExternalSandbox(TypedDict):
    """Something outside confines the process already."""

    type: Literal["externalSandbox"]
    networkAccess: NotRequired[Literal["restricted", "enabled"]]


class WorkspaceWrite(TypedDict):
    """Everything may be read; the workspace, extra roots and temp folders written."""

    type: Literal["workspaceWrite"]
    writableRoots: NotRequired[list[str]]
    networkAccess: NotRequired[bool]
    excludeTmpdirEnvVar: NotRequired[bool]
    excludeSlashTmp: NotRequired[bool]


SandboxPolicy = DangerFullAccess | ReadOnly | ExternalSandbox | WorkspaceWrite
