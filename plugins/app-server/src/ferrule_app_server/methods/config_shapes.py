"""Parameters and results of the methods about configuration."""

from __future__ import annotations

from typing import Literal, NotRequired

from typing_extensions import TypedDict

MergeStrategy = Literal["replace", "upsert"]


class ConfigReadParams(TypedDict):
    """Which configuration: that of a folder, with or without its layers."""

    includeLayers: NotRequired[bool | None]
    cwd: NotRequired[str | None]


class LayerSource(TypedDict):
    """Where a layer comes from."""

    type: Literal["system", "user", "project", "sessionFlags", "legacyManagedConfigTomlFromFile"]
    file: NotRequired[str]
    profile: NotRequired[str | None]
    dotCodexFolder: NotRequired[str]


class LayerMetadata(TypedDict):
    """A layer and what it is compared by."""

    name: LayerSource
    version: str


class Layer(LayerMetadata):
    """A layer with what it says."""

    config: dict[str, object]


class ConfigReadResult(TypedDict):
    """The effective configuration; keys as in config.toml."""

    config: dict[str, object]
    origins: dict[str, LayerMetadata]
    layers: list[Layer] | None


class ConfigValueWriteParams(TypedDict):
    """One change of the user's file; a value of null takes the key out."""

    keyPath: str
    value: object
    mergeStrategy: MergeStrategy
    filePath: NotRequired[str | None]
    expectedVersion: NotRequired[str | None]


class Edit(TypedDict):
    """One of several changes."""

    keyPath: str
    value: object
    mergeStrategy: MergeStrategy


class ConfigBatchWriteParams(TypedDict):
    """Several changes of the user's file, all or none."""

    edits: list[Edit]
    filePath: NotRequired[str | None]
    expectedVersion: NotRequired[str | None]
    reloadUserConfig: NotRequired[bool | None]


class Overridden(TypedDict):
    """Why a written value does not count."""

    message: str
    overridingLayer: LayerMetadata
    effectiveValue: object


class ConfigWriteResult(TypedDict):
    """What was written, and whether it counts."""

    status: Literal["ok", "okOverridden"]
    version: str
    filePath: str
    overriddenMetadata: Overridden | None


class Requirements(TypedDict):
    """What the administrator allows; None where everything is."""

    allowedApprovalPolicies: list[str] | None
    allowedSandboxModes: list[str] | None
    allowedPermissionProfiles: dict[str, bool] | None
    allowedApprovalsReviewers: list[str] | None
    modelProvider: str | None


class RequirementsResult(TypedDict):
    """The administrator's requirements; None where there are none."""

    requirements: Requirements | None
