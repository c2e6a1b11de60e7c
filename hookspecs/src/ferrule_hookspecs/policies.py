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


FileAccess = Literal["read", "write", "none"]


class PermissionEntry(TypedDict):
    """What a permission profile says about a path: the more exact entry counts.

    `path` is absolute, or begins with `:root`, `:minimal`, `:project_roots`, `:slash_tmp` or
    `:tmpdir`. A glob pattern is only ever kept from commands.
    """

    path: str
    access: FileAccess


class ProfileEnvironment(TypedDict):
    """Variables of commands under a profile; it takes away, and sets."""

    set: NotRequired[dict[str, str]]
    exclude: NotRequired[list[str]]
    include_only: NotRequired[list[str]]


class PermissionProfile(TypedDict):
    """A named permission profile with what it says at the moment.

    A client names it by `id`; the rest is filled in from the configuration, whatever it sends.
    `networkRules` are rules in the words of `[network]`; with some, `networkAccess` is false and
    the managed network is the only way out.
    """

    type: Literal["permissionProfile"]
    id: str
    description: NotRequired[str]
    extends: NotRequired[str]
    entries: NotRequired[list[PermissionEntry]]
    workspaceRoots: NotRequired[list[str]]
    globScanMaxDepth: NotRequired[int]
    networkAccess: NotRequired[bool]
    networkRules: NotRequired[list[str]]
    unixSockets: NotRequired[list[str]]
    environment: NotRequired[ProfileEnvironment]
    maxProcesses: NotRequired[int]
    maxMemoryBytes: NotRequired[int]
    debugging: NotRequired[bool]


ModePolicy = DangerFullAccess | ReadOnly | ExternalSandbox | WorkspaceWrite
SandboxPolicy = ModePolicy | PermissionProfile
