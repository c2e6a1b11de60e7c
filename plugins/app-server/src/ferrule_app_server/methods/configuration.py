"""`config/*` and `configRequirements/read`: what is configured, and changes of the user's file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, cast

from anyio.to_thread import run_sync

from ferrule_app_server.methods.config_shapes import (
    ConfigBatchWriteParams,
    ConfigReadParams,
    ConfigReadResult,
    ConfigValueWriteParams,
    ConfigWriteResult,
    RequirementsResult,
)
from ferrule_app_server.methods.config_view import (
    is_table,
    known_value,
    metadata,
    origins,
    shown_config,
    without_secrets,
)
from ferrule_app_server.methods.folders import config_at
from ferrule_hookspecs.errors import ConfigConflictError, ConfigError
from ferrule_hookspecs.host import ConfigEdit
from ferrule_hookspecs.serving import RpcError, RpcMethod

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ferrule_app_server.methods.config_shapes import Layer, Overridden
    from ferrule_hookspecs.host import Config
    from ferrule_hookspecs.serving import RpcCall

_CONFLICT: Final = "Configuration was modified since last read. Fetch latest version and retry."


async def _read(call: RpcCall) -> Mapping[str, object]:
    config = await config_at(call, call.params.get("cwd"))
    reply: dict[str, object] = {
        "config": shown_config(config),
        "origins": origins(config),
        "layers": None,
    }
    if call.params.get("includeLayers"):
        reply["layers"] = _layers(config)
    return reply


def _layers(config: Config) -> list[Layer]:
    """Everything but the built-in defaults, what counts most first."""
    return [
        {**metadata(layer), "config": without_secrets(layer.values, config.secrets)}
        for layer in reversed(config.layers)
        if layer.name != "defaults" and (layer.file is not None or layer.values)
    ]


async def _write_value(call: RpcCall) -> Mapping[str, object]:
    return await _write(call, [call.params])


async def _write_batch(call: RpcCall) -> Mapping[str, object]:
    return await _write(call, cast("Sequence[Mapping[str, object]]", call.params["edits"]))


async def _write(call: RpcCall, asked: Sequence[Mapping[str, object]]) -> Mapping[str, object]:
    edits = [
        ConfigEdit(str(edit["keyPath"]), edit.get("value"), edit["mergeStrategy"] == "upsert")
        for edit in asked
    ]
    expected = cast("str | None", call.params.get("expectedVersion"))

    def write() -> Config:
        return call.kernel.write_config(call.request, edits, expected_version=expected)

    try:
        _check_file(call)
        config = await run_sync(write)
    except ConfigConflictError:
        raise _refused("configVersionConflict", _CONFLICT) from None
    except ConfigError as error:
        text = f"Invalid configuration: {error}"
        raise _refused("configValidationError", text) from None
    user = next(layer for layer in config.layers if layer.name == "user")
    overridden = next(filter(None, (_overridden(config, edit) for edit in edits)), None)
    return {
        "status": "ok" if overridden is None else "okOverridden",
        "version": user.version,
        "filePath": user.file,
        "overriddenMetadata": overridden,
    }


def _refused(code: str, message: str) -> RpcError:
    return RpcError(message, data={"config_write_error_code": code})


def _check_file(call: RpcCall) -> None:
    """Only the user's own file is written."""
    asked = call.params.get("filePath")
    if call.request.ignore_user:
        raise _refused("configLayerReadonly", "This server does not use the user's config.toml")
    own = call.kernel.home / "config.toml"
    if asked is None:
        return
    if "\0" in str(asked) or os.path.realpath(str(asked)) != os.path.realpath(own):
        raise _refused("configLayerReadonly", "Only writes to the user config are allowed")


def _overridden(config: Config, edit: ConfigEdit) -> Overridden | None:
    """Tell what stands above a written value, if something does."""
    effective = config.get(edit.key)
    origin = config.origin(edit.key)
    if edit.value is None or isinstance(edit.value, dict) or effective == edit.value:
        return None
    layer = next(
        (each for each in reversed(config.layers) if each.name == origin.layer), config.layers[0]
    )
    if layer.name == "user":
        return None
    return {
        "message": f"Overridden by {origin.file or origin.layer}",
        "overridingLayer": metadata(layer),
        "effectiveValue": "(set)" if _is_secret(config, effective) else effective,
    }


def _is_secret(config: Config, value: object) -> bool:
    """Whether a value is never shown; a key can be written in several ways, so none is compared."""
    for path in config.secrets:
        found: object = config.values
        for key in path:
            found = found.get(key) if is_table(found) else None
        if found is not None and found == value:
            return True
    return False


async def _requirements(call: RpcCall) -> Mapping[str, object]:
    allowed = call.config.allowed
    if not allowed:
        return {"requirements": None}
    providers = allowed.get("model_provider", ())
    return {
        "requirements": {
            "allowedApprovalPolicies": _choices(allowed, "approval_policy"),
            "allowedSandboxModes": _choices(allowed, "sandbox_mode"),
            "allowedPermissionProfiles": _profiles(allowed),
            "allowedApprovalsReviewers": _choices(allowed, "approvals_reviewer"),
            "modelProvider": providers[0] if len(providers) == 1 else None,
        }
    }


def _profiles(allowed: Mapping[str, Sequence[str]]) -> dict[str, bool] | None:
    names = allowed.get("default_permissions")
    return None if names is None else dict.fromkeys(names, True)


def _choices(allowed: Mapping[str, Sequence[str]], key: str) -> list[str] | None:
    """Return what clients know of the allowed values; None where that says nothing."""
    if key not in allowed:
        return None
    known = [known_value(key, value) for value in allowed[key]]
    return [str(value) for value in dict.fromkeys(known) if value is not None] or None


METHODS: Final = (
    RpcMethod("config/read", _read, ConfigReadParams, result=ConfigReadResult),
    RpcMethod("config/value/write", _write_value, ConfigValueWriteParams, result=ConfigWriteResult),
    RpcMethod("config/batchWrite", _write_batch, ConfigBatchWriteParams, result=ConfigWriteResult),
    RpcMethod("configRequirements/read", _requirements, result=RequirementsResult),
)
