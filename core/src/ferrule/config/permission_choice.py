"""Which of the two ways to say what commands may do counts: a sandbox mode or a permission profile.

The highest layer that says either decides. Where one layer says both, nobody can tell what is
meant, and nothing is guessed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ferrule.config.requirements import Constrained
from ferrule.config.tables import is_list, is_table, place, table_at, texts
from ferrule.permission_profiles import (
    BUILT_IN,
    ProfileError,
    profile_mode,
    profile_names,
    read_profile,
)
from ferrule_hookspecs.errors import ConfigError
from ferrule_hookspecs.host import ConfigOrigin

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ferrule.config.layers import Layer
    from ferrule.config.tables import Table

_PROFILE: Final = "default_permissions"
_MODE: Final = "sandbox_mode"
_ALLOWED: Final = "allowed_permission_profiles"


def choose_permissions(values: Table, layers: Sequence[Layer]) -> None:
    """Leave one of the two keys in the effective values, in place.

    Raises:
        ConfigError: One layer says both.
    """
    if values.get(_PROFILE) is None:
        return
    chosen = next((layer for layer in reversed(layers) if _says(layer)), None)
    if chosen is None:
        return
    said = [key for key in (_PROFILE, _MODE) if key in chosen.values]
    if len(said) > 1:
        raise ConfigError(
            f"{chosen.where((_PROFILE,))}: `{_PROFILE}` and `{_MODE}` ({chosen.where((_MODE,))}) "
            "both say what commands may do; leave one of them out"
        )
    values.pop(_MODE if said == [_PROFILE] else _PROFILE, None)


def _says(layer: Layer) -> bool:
    return _PROFILE in layer.values or _MODE in layer.values


def constrain_permissions(
    values: Table, rules: Layer | None, layers: Sequence[Layer]
) -> Constrained:
    """Check the permission profiles and apply the administrator's rules about them, in place.

    Args:
        values: The effective values.
        rules: What `read_requirements` returned.
        layers: All layers, lowest first.

    Raises:
        ConfigError: A profile makes no sense, or one is asked for that is not allowed.
    """
    result = Constrained()
    if rules is not None:
        _add_definitions(values, rules, result)
    sources = [*layers, *([rules] if rules is not None else [])]
    for name in table_at(values, "permissions"):
        _checked(values, name, sources)
    choose_permissions(values, layers)
    if rules is not None:
        _take_default(values, rules, layers, result)
        _refuse_others(values, rules, layers, result)
    chosen = values.get(_PROFILE)
    if isinstance(chosen, str):
        mode = BUILT_IN.get(chosen) or _checked(values, chosen, sources)
        _check_mode(chosen, mode, rules, layers)
    return result


def allowed_profiles(rules: Layer | None) -> list[str] | None:
    """Name the profiles that may be chosen; None where all may."""
    said = None if rules is None else rules.values.get(_ALLOWED)
    if is_table(said):
        return [name for name, is_allowed in said.items() if is_allowed is True]
    return texts(said) if is_list(said) else None


def permission_choices(rules: Layer | None) -> dict[str, Sequence[str]]:
    """Tell by key what is allowed of profiles and, as these stand for modes, of modes."""
    names = allowed_profiles(rules)
    if rules is None or names is None:
        return {}
    modes = rules.values.get("allowed_sandbox_modes")
    own = [BUILT_IN[name] for name in names if name in BUILT_IN]
    return {
        _PROFILE: tuple(names),
        _MODE: tuple(mode for mode in own if not is_list(modes) or mode in modes),
    }


def _add_definitions(values: Table, rules: Layer, result: Constrained) -> None:
    for name, profile in table_at(rules.values, "permissions").items():
        path = ("permissions", name)
        if name in table_at(values, "permissions"):
            result.warnings.append(
                f"the permission profile {name!r} is the administrator's ({rules.where(path)}); "
                "what is said about it elsewhere does not count"
            )
        place(values, path, profile)
        result.origins[path] = ConfigOrigin("requirements", rules.file, rules.line(path))


def _checked(values: Table, name: str, sources: Sequence[Layer]) -> str:
    """Read a profile; what is wrong in it is told with its file and line. Returns its mode."""
    try:
        return profile_mode(read_profile(values, name))
    except ProfileError as error:
        found = (layer for layer in reversed(sources) if layer.has(error.path))
        layer = next(found, None)
        raise ConfigError(f"{layer.where(error.path)}: {error}" if layer else str(error)) from None


def _take_default(
    values: Table, rules: Layer, layers: Sequence[Layer], result: Constrained
) -> None:
    """Use the administrator's profile where nobody asked for anything."""
    name = rules.values.get(_PROFILE)
    asked = next((layer for layer in reversed(layers) if _says(layer)), None)
    if isinstance(name, str) and (asked is None or asked.name == "defaults"):
        values.pop(_MODE, None)
        place(values, (_PROFILE,), name)
        result.origins[_PROFILE,] = ConfigOrigin(
            "requirements", rules.file, rules.line((_PROFILE,))
        )


def _refuse_others(
    values: Table, rules: Layer, layers: Sequence[Layer], result: Constrained
) -> None:
    names = allowed_profiles(rules)
    if names is None:
        return
    where = rules.where((_ALLOWED,))
    known = profile_names(values)
    for name in names:
        if name not in known:
            raise ConfigError(
                f"{where}: there is no permission profile {name!r}; define it there, as in "
                f"[permissions.{name}], or take it out"
            )
    key = _PROFILE if _PROFILE in values else _MODE
    chosen = values.get(key)
    mode_names = [name for name, mode in BUILT_IN.items() if mode == chosen]
    if chosen in names or (key == _MODE and set(mode_names) & set(names)):
        return
    listed = f"{', '.join(names) or 'nothing'} ({where})"
    asked = next((layer for layer in reversed(layers) if key in layer.values), None)
    if asked is not None and asked.name != "defaults":
        raise ConfigError(
            f"{asked.where((key,))}: `{key}` is {chosen!r}, but the administrator allows only the "
            f"permission profiles {listed}; ask for one of these or leave the key out"
        )
    if not names or key == _PROFILE:
        raise ConfigError(f"{where}: `{_ALLOWED}` leaves no value for `{_PROFILE}`; name one")
    result.warnings.append(
        f"`{_PROFILE}` is {names[0]!r} instead of the default mode {chosen!r}: "
        f"the administrator allows only {listed}"
    )
    values.pop(_MODE, None)
    place(values, (_PROFILE,), names[0])
    result.origins[_PROFILE,] = ConfigOrigin("requirements", rules.file, rules.line((_ALLOWED,)))


def _check_mode(name: str, mode: str, rules: Layer | None, layers: Sequence[Layer]) -> None:
    """Hold a profile to the modes the administrator allows, unless it was allowed by name."""
    modes = None if rules is None else rules.values.get("allowed_sandbox_modes")
    if (
        rules is None
        or not is_list(modes)
        or mode in modes
        or name in (allowed_profiles(rules) or ())
    ):
        return
    asked = next((layer for layer in reversed(layers) if _PROFILE in layer.values), rules)
    raise ConfigError(
        f"{asked.where((_PROFILE,))}: the permission profile {name!r} counts as {mode}, but the "
        f"administrator allows only {', '.join(texts(modes)) or 'nothing'} "
        f"({rules.where(('allowed_sandbox_modes',))})"
    )
