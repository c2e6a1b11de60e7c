"""The configuration of a thread that works for another: its parent's, narrowed.

What it asks for counts as what a project's file asks for: harmless keys, and safety in the narrower
direction. The administrator's bounds hold for it as for everybody.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

from ferrule.approvals import policy_name
from ferrule.config.narrowing import ProjectBounds, narrow
from ferrule.config.tables import Table, join_key, lookup, merge, place
from ferrule.opening import configured
from ferrule.policy import policy_mode
from ferrule.turn_settings import check_allowed
from ferrule_hookspecs.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ferrule.config.tables import KeyPath
    from ferrule.session_parts import Settings
    from ferrule_hookspecs.host import Config, ConfigLayer, ConfigOrigin, ThreadOptions
    from ferrule_hookspecs.policies import ApprovalPolicy

_SANDBOX_KEYS = ("sandbox_mode", "sandbox_workspace_write")
_KEYS_OF_SETTINGS = {
    "model": "model",
    "model_reasoning_effort": "reasoning_effort",
    "model_reasoning_summary": "reasoning_summary",
    "model_verbosity": "verbosity",
    "service_tier": "service_tier",
}


@dataclass(slots=True)
class ChildConfig:
    """A narrowed configuration; satisfies the contract's `Config`."""

    parent: Config
    values: Mapping[str, object]
    warnings: Sequence[str]
    project_root: str
    is_trusted: bool
    allowed: Mapping[str, Sequence[str]]

    @property
    def layers(self) -> Sequence[ConfigLayer]:
        """Everything that was read for the parent."""
        return self.parent.layers

    @property
    def secrets(self) -> Sequence[tuple[str, ...]]:
        """What is never shown, as the parent knows it."""
        return self.parent.secrets

    def get(self, key: str, default: object = None) -> object:
        """Return a value by dotted key."""
        from ferrule.config.provenance import key_path
        from ferrule.config.tables import MISSING

        value = lookup(self.values, key_path(key))
        return default if value is MISSING else value

    def origin(self, key: str) -> ConfigOrigin:
        """Tell where a value comes from, as the parent knows it."""
        return self.parent.origin(key)


class Narrowed(NamedTuple):
    """What a thread that works for another begins with."""

    config: ChildConfig
    kept: Mapping[str, object]

    def settings(self, options: ThreadOptions, parent: Settings) -> Settings:
        """Return its settings: the parent's as they are now, but for what it asked for."""
        own = configured(options, parent.reviewer)
        asked_sandbox = any(key in self.kept for key in _SANDBOX_KEYS)
        approval = cast("ApprovalPolicy | None", self.kept.get("approval_policy"))
        return replace(
            own,
            approval_policy=approval or parent.approval_policy,
            sandbox_policy=own.sandbox_policy if asked_sandbox else parent.sandbox_policy,
        )


def narrowed_config(
    config: Config,
    parent: Settings,
    wanted: Mapping[str, object],
    root: str,
    values: Mapping[str, object],
) -> Narrowed:
    """Narrow a parent's configuration to what a thread that works for it asks for.

    Args:
        config: What the parent was opened with.
        parent: Its settings as they are now.
        wanted: What is asked for, by dotted key.
        root: The project's root.
        values: What the parent has taken up of its configuration by now.

    Raises:
        ConfigError: It asks for what the administrator does not allow.
    """
    now = _as_it_is_now(values, parent)
    asked: Table = {}
    for key, value in wanted.items():
        place(asked, _path(key), value)
    base = dict(now)
    base["sandbox_mode"] = policy_mode(parent.sandbox_policy)
    base["approval_policy"] = parent.approval_policy
    kept, ignored = narrow(asked, ProjectBounds(base, Path(root or parent.cwd)))
    _check(kept, config.allowed)
    merged = merge(now, kept)
    if any(key in kept for key in _SANDBOX_KEYS):
        merged["sandbox_mode"] = kept.get("sandbox_mode", base["sandbox_mode"])
        merged.pop("default_permissions", None)
    warnings = [
        f"`{join_key(path)}` is ignored: a thread that works for another cannot set it this way"
        for path in ignored
    ]
    narrower = ChildConfig(
        config, merged, warnings, config.project_root, config.is_trusted, config.allowed
    )
    return Narrowed(narrower, kept)


def _path(key: str) -> KeyPath:
    from ferrule.config.provenance import key_path

    return key_path(key)


def _as_it_is_now(values: Mapping[str, object], parent: Settings) -> Table:
    """The parent's values with what changed since its thread was opened."""
    now = dict(values)
    for key, name in _KEYS_OF_SETTINGS.items():
        value = getattr(parent, name)
        if value is not None and value != now.get(key):
            now[key] = value
    return now


def _check(kept: Mapping[str, object], allowed: Mapping[str, Sequence[str]]) -> None:
    for key in allowed:
        if key not in kept:
            continue
        value = kept[key]
        if isinstance(value, list):
            for each in cast("list[object]", value):
                check_allowed(key, str(each), allowed)
        elif isinstance(value, (str, dict)):
            check_allowed(key, policy_name(cast("ApprovalPolicy", value)), allowed)
        else:
            raise ConfigError(f"`{key}` cannot be {value!r} in a thread that works for another")
