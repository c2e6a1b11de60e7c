"""What the administrator fixes of the settings of plugins: laid over everybody else's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule.config.tables import (
    MISSING,
    SETTINGS_PATH,
    KeyPath,
    Table,
    is_table,
    join_key,
    leaves,
    lookup,
    place,
)
from ferrule_hookspecs.host import ConfigOrigin

if TYPE_CHECKING:
    from ferrule.config.layers import Layer


def constrain_settings(
    values: Table, rules: Layer | None
) -> tuple[list[str], dict[KeyPath, ConfigOrigin]]:
    """Apply them in place; returns warnings, and where the values come from now."""
    warnings: list[str] = []
    origins: dict[KeyPath, ConfigOrigin] = {}
    fixed = MISSING if rules is None else lookup(rules.values, SETTINGS_PATH)
    if rules is None or not is_table(fixed):
        return warnings, origins
    for path, value in leaves(fixed, SETTINGS_PATH):
        if lookup(values, path) not in (MISSING, value):
            warnings.append(
                f"`{join_key(path)}` is overruled by the administrator ({rules.where(path)})"
            )
        place(values, path, value)
        origins[path] = ConfigOrigin("requirements", rules.file, rules.line(path))
    return warnings, origins
