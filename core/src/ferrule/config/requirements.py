"""The administrator's constraints, from `requirements.toml`.

What somebody asked for and may not have is an error; a built-in default that is not allowed gives
way to the first allowed value, with a warning. A constraint that is not understood is an error, so
that a misspelt one never leaves a machine open.
"""

# No `from __future__ import annotations`: the light check reads these annotations as objects.
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from typing_extensions import TypedDict

from ferrule.config.layers import Layer, check_layer, read_layer
from ferrule.config.required_isolation import required_isolation
from ferrule.config.required_network import RequiredNetwork
from ferrule.config.required_search import SearchMode, constrain_search
from ferrule.config.required_servers import RequiredServer
from ferrule.config.settings import AcceptableGap, Budgets, Permissions, PluginPin
from ferrule.config.tables import MISSING, KeyPath, Table, is_list, is_table, lookup, place, texts
from ferrule_hookspecs.errors import ConfigError
from ferrule_hookspecs.host import ConfigOrigin
from ferrule_hookspecs.policies import SandboxMode


class RequiredPlugins(TypedDict, total=False):
    """Which plugins may and must load."""

    allow: list[str | PluginPin]
    required: list[str]
    block: list[str]
    settings: dict[str, dict[str, object]]
    isolation: dict[str, Literal["none", "process"]]
    require_trust: bool


class RequiredToken(TypedDict, total=False):
    """One word of a pattern: itself, or one of several."""

    token: str
    any_of: list[str]


class RequiredRule(TypedDict, total=False):
    """A rule about commands that begin with these words."""

    pattern: list[RequiredToken]
    decision: Literal["allow", "prompt", "forbidden"]
    justification: str
    canonical_matching: bool


class RequiredRules(TypedDict, total=False):
    """Rules about commands, on top of everybody else's; read by the plugin `rules`."""

    prefix_rules: list[RequiredRule]


class RequirementsFile(TypedDict, total=False):
    """Constraints of the administrator, as in `requirements.toml`."""

    allowed_approval_policies: list[
        Literal["untrusted", "on-failure", "on-request", "never", "granular"]
    ]
    allowed_sandbox_modes: list[SandboxMode]
    allowed_permission_profiles: list[str] | dict[str, bool]
    default_permissions: str
    permissions: dict[str, Permissions]
    allowed_sandbox_backends: list[str]
    allowed_sandbox_gaps: list[AcceptableGap]
    allowed_recipes: list[str]
    allowed_approvals_reviewers: list[str]
    allowed_model_providers: list[str]
    allowed_web_search_modes: list[SearchMode]
    allow_managed_hooks_only: bool
    hooks: dict[str, object]
    guardian_policy_config: str
    guardian_extra_policy: str
    plugins: RequiredPlugins
    rules: RequiredRules
    mcp_servers: dict[str, RequiredServer]
    network: RequiredNetwork
    budgets: Budgets


_CONSTRAINED: Final[Mapping[str, str]] = {
    "allowed_approval_policies": "approval_policy",
    "allowed_sandbox_modes": "sandbox_mode",
    "allowed_sandbox_backends": "sandbox_backend",
    "allowed_sandbox_gaps": "sandbox_accept_gaps",
    "allowed_recipes": "sandbox_recipes",
    "allowed_approvals_reviewers": "approvals_reviewer",
    "allowed_model_providers": "model_provider",
}


@dataclass(slots=True)
class Constrained:
    """What the constraints changed.

    Attributes:
        warnings: One for each default that gave way.
        origins: Where the changed values come from now.
    """

    warnings: list[str] = field(default_factory=list[str])
    origins: dict[KeyPath, ConfigOrigin] = field(default_factory=dict[KeyPath, ConfigOrigin])


def read_requirements(folder: Path) -> Layer | None:
    """Read the constraints; None where the administrator set none."""
    layer = read_layer("requirements", folder / "requirements.toml")
    if layer is not None:
        check_layer(layer, strict=True, expected=RequirementsFile)
    return layer


def constrain(values: Table, rules: Layer | None, layers: Sequence[Layer]) -> Constrained:
    """Apply the constraints to the effective values, in place.

    Args:
        values: The effective values.
        rules: What `read_requirements` returned.
        layers: All layers, lowest first; they tell a request from a default.

    Raises:
        ConfigError: Somebody asked for a value that is not allowed.
    """
    result = Constrained()
    if rules is None:
        return result
    for rule, key in _CONSTRAINED.items():
        allowed = lookup(rules.values, (rule,))
        if (
            key in values
            and is_list(allowed)
            and not all(each in allowed for each in _choices(values.get(key)))
        ):
            _refuse_request(key, rule, rules, layers)
            _replace_default(values, key, rule, rules, result)
    result.warnings += _dropped_plugins(values, rules)
    result.origins.update(constrain_plugins(values, rules))
    result.origins.update(constrain_search(values, rules, layers))
    return result


def _dropped_plugins(values: Table, rules: Layer) -> list[str]:
    """Name the plugins that the user lets load and the administrator does not."""
    own = lookup(values, ("plugins", "allow"))
    allow = lookup(rules.values, ("plugins", "allow"))
    if not (is_list(own) and is_list(allow)):
        return []
    names = {_pin_name(pin) for pin in allow}
    place_of = rules.where(("plugins", "allow"))
    return [
        f"`plugins.allow` names {name!r}, which the administrator does not allow ({place_of})"
        for name in map(_pin_name, own)
        if name not in names
    ]


def allowed_choices(rules: Layer | None) -> dict[str, Sequence[str]]:
    """Tell by key what is allowed, for values that change while a thread is open."""
    values = {} if rules is None else rules.values
    return {key: tuple(texts(values[rule])) for rule, key in _CONSTRAINED.items() if rule in values}


def bound_origins(rules: Layer | None) -> dict[str, ConfigOrigin]:
    """Tell by key where the administrator says what is allowed."""
    if rules is None:
        return {}
    return {
        key: ConfigOrigin("requirements", rules.file, rules.line((rule,)))
        for rule, key in _CONSTRAINED.items()
        if rule in rules.values
    }


def _choices(value: object) -> list[str]:
    """What of a value must be allowed: each item of a list."""
    return texts(value) if is_list(value) else [_choice(value)]


def _choice(value: object) -> str:
    """Name a value as the constraints do: a table goes by its only key."""
    if is_list(value):
        return ", ".join(texts(value))
    return next(iter(value), "") if is_table(value) else str(value)


def _refuse_request(key: str, rule: str, rules: Layer, layers: Sequence[Layer]) -> None:
    asked = next(layer for layer in reversed(layers) if layer.has((key,)))
    if asked.name not in ("defaults", "surroundings"):
        raise ConfigError(
            f"{asked.where((key,))}: `{key}` is {_choice(asked.values[key])!r}, but the "
            f"administrator allows only {_allowed(rules, rule)}; "
            "ask for one of these or leave the key out"
        )


def _replace_default(values: Table, key: str, rule: str, rules: Layer, result: Constrained) -> None:
    choices = [choice for choice in texts(rules.values[rule]) if choice != "granular"]
    if not choices:
        raise ConfigError(f"{rules.where((rule,))}: `{rule}` leaves no value for `{key}`; name one")
    result.warnings.append(
        f"`{key}` is {choices[0]!r} instead of the default {_choice(values[key])!r}: "
        f"the administrator allows only {_allowed(rules, rule)}"
    )
    place(values, (key,), choices[0])
    result.origins[(key,)] = ConfigOrigin("requirements", rules.file, rules.line((rule,)))


def _allowed(rules: Layer, rule: str) -> str:
    return f"{', '.join(texts(rules.values[rule])) or 'nothing'} ({rules.where((rule,))})"


def constrain_plugins(values: Table, rules: Layer | None) -> dict[KeyPath, ConfigOrigin]:
    """Add the administrator's rules about plugins, in place; returns where they come from."""
    if rules is None:
        return {}
    changed: Table = {}
    for key in ("required", "block"):
        if added := texts(lookup(rules.values, ("plugins", key))):
            own = texts(lookup(values, ("plugins", key)))
            changed[key] = list(dict.fromkeys([*added, *own]))
    allow = lookup(rules.values, ("plugins", "allow"))
    if is_list(allow):
        own_allow = lookup(values, ("plugins", "allow"))
        names = {_pin_name(pin) for pin in own_allow} if is_list(own_allow) else None
        changed["allow"] = [pin for pin in allow if names is None or _pin_name(pin) in names]
    if lookup(rules.values, ("plugins", "require_trust")) is True:
        changed["require_trust"] = True
    if isolation := required_isolation(values, rules.values):
        changed["isolation"] = isolation
    paths = {key: ("plugins", key) for key in changed}
    for key, path in paths.items():
        place(values, path, changed[key])
    return {p: ConfigOrigin("requirements", rules.file, rules.line(p)) for p in paths.values()}


def constrain_guardian(values: Table, rules: Layer | None) -> Constrained:
    """Lay the administrator's policy for automatic reviews over everybody else's, in place."""
    result = Constrained()
    texts_of = {"guardian_policy_config": "policy", "guardian_extra_policy": "extra_policy"}
    for rule, key in texts_of.items():
        if rules is None or rule not in rules.values:
            continue
        path = ("auto_review", key)
        if lookup(values, path) not in (MISSING, rules.values[rule]):
            result.warnings.append(
                f"`auto_review.{key}` is overruled by the administrator ({rules.where((rule,))})"
            )
        place(values, path, rules.values[rule])
        result.origins[path] = ConfigOrigin("requirements", rules.file, rules.line((rule,)))
    return result


def _pin_name(pin: object) -> str:
    name = pin.get("name") if is_table(pin) else pin
    return str(name).partition("==")[0].strip()


def managed_warnings(layers: Sequence[Layer], managed: Layer | None) -> list[str]:
    """Say which options of this run the administrator's values replace."""
    if managed is None:
        return []
    return [
        f"{layer.where(path)}: `{path[0]}` is overruled by {managed.where(path)}"
        for layer in layers
        if layer.name in ("-c", "flag")
        for path in ((key,) for key in layer.values)
        if lookup(managed.values, path) not in (MISSING, layer.values[path[0]])
    ]
