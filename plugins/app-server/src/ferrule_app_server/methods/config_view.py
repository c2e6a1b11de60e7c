"""The configuration as clients of the protocol may read it.

Clients have closed lists of values: what they cannot know is told as the nearest thing they do, or
not at all. Keys written in the clear are left out.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Final, TypeGuard

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ferrule_app_server.methods.config_shapes import LayerMetadata, LayerSource
    from ferrule_hookspecs.host import Config, ConfigLayer

_KNOWN: Final[Mapping[str, tuple[str, ...]]] = {
    "approval_policy": ("untrusted", "on-request", "never"),
    "sandbox_mode": ("read-only", "workspace-write", "danger-full-access"),
    "approvals_reviewer": ("user", "auto_review", "guardian_subagent"),
}
_NEAREST: Final[Mapping[tuple[str, str], str]] = {("approval_policy", "on-failure"): "on-request"}
_ALWAYS: Final = (
    *("model", "review_model", "model_context_window", "model_auto_compact_token_limit"),
    *("model_provider", "approval_policy", "approvals_reviewer", "sandbox_mode"),
    *("sandbox_workspace_write", "web_search", "tools", "instructions", "developer_instructions"),
    *("compact_prompt", "model_reasoning_effort", "model_reasoning_summary", "model_verbosity"),
    *("service_tier", "analytics", "model_auto_compact_token_limit_scope"),
)
"""Keys that are told as null where nobody set them."""
_SECRETS: Final = re.compile(r"KEY|SECRET|TOKEN|PASSW|CREDENTIAL|AUTH|COOKIE", re.IGNORECASE)
_CLEAR_TEXT: Final = "experimental_bearer_token"
_NAMED_VALUES: Final = ("http_headers", "env", "set")
"""Tables whose values are secrets where their names say so."""


def shown_config(config: Config) -> dict[str, object]:
    """Return the effective values for a reply."""
    values = without_secrets(config.values, config.secrets)
    shown: dict[str, object] = {**dict.fromkeys(_ALWAYS), **values}
    for key in _KNOWN:
        shown[key] = known_value(key, shown[key])
    tools = shown["tools"]
    if is_table(tools) and not is_table(tools.get("web_search")):
        shown["tools"] = {**tools, "web_search": None}
    return shown


def known_value(key: str, value: object) -> object:
    """Return a value as clients know it; None where they know nothing like it."""
    if not isinstance(value, str):
        return value
    value = _NEAREST.get((key, value), value)
    return value if value in _KNOWN[key] else None


def without_secrets(
    values: Mapping[str, object], secrets: Sequence[tuple[str, ...]] = ()
) -> dict[str, object]:
    """Return the values without keys that are written in the clear.

    Of `secrets`, which plugins declare, it is told whether they are set.
    """
    kept: dict[str, object] = {}
    for key, value in values.items():
        inner = [path[1:] for path in secrets if path[:1] == (key,)]
        if key == _CLEAR_TEXT:
            continue
        if () in inner:
            kept[key] = "(set)"
        elif not is_table(value):
            kept[key] = value
        elif key in _NAMED_VALUES:
            kept[key] = {name: each for name, each in value.items() if not _SECRETS.search(name)}
        else:
            kept[key] = without_secrets(value, inner)
    return kept


def origins(config: Config) -> dict[str, LayerMetadata]:
    """Tell by dotted key which layer decides; built-in defaults are nobody's decision."""
    found: dict[str, LayerMetadata] = {}
    for layer in config.layers:
        if layer.name == "defaults":
            continue
        told = metadata(layer)
        for key in _leaves(layer.values, ""):
            found[key] = told
    return found


def metadata(layer: ConfigLayer) -> LayerMetadata:
    """Name a layer."""
    return {"name": _source(layer), "version": layer.version}


def _source(layer: ConfigLayer) -> LayerSource:
    file = layer.file
    if file is None:
        return {"type": "sessionFlags"}
    if layer.name == "project":
        return {"type": "project", "dotCodexFolder": os.path.dirname(file)}
    if layer.name in ("user", "profile"):
        name = os.path.basename(file).removesuffix(".config.toml")
        return {"type": "user", "file": file, "profile": name if layer.name == "profile" else None}
    if layer.name == "system":
        return {"type": "system", "file": file}
    return {"type": "legacyManagedConfigTomlFromFile", "file": file}


def _leaves(table: Mapping[str, object], prefix: str) -> Iterator[str]:
    for key, value in table.items():
        if is_table(value) and value:
            yield from _leaves(value, f"{prefix}{key}.")
        else:
            yield prefix + key


def is_table(value: object) -> TypeGuard[dict[str, object]]:
    """Tell whether a value is a table."""
    return isinstance(value, dict)
