"""The most that anybody may spend, as the administrator says.

A limit that nobody set becomes the administrator's; a larger one that somebody asked for is an
error, as is one that is no number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule.config.tables import MISSING, KeyPath, Table, is_table, lookup, place, table_at
from ferrule_hookspecs.errors import ConfigError
from ferrule_hookspecs.host import ConfigOrigin

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ferrule.config.layers import Layer


def constrain_budgets(
    values: Table, rules: Layer | None, layers: Sequence[Layer]
) -> dict[KeyPath, ConfigOrigin]:
    """Lay the administrator's budgets under everybody else's, in place; returns where they are.

    Raises:
        ConfigError: Somebody asked for more.
    """
    origins: dict[KeyPath, ConfigOrigin] = {}
    if rules is None:
        return origins
    for scope, limits in table_at(rules.values, "budgets").items():
        for key, bound in limits.items() if is_table(limits) else ():
            path = ("budgets", scope, key)
            asked = lookup(values, path)
            if asked is MISSING:
                place(values, path, bound)
                origins[path] = ConfigOrigin("requirements", rules.file, rules.line(path))
            elif not is_at_most(asked, bound):
                layer = next(layer for layer in reversed(layers) if layer.has(path))
                raise ConfigError(
                    f"{layer.where(path)}: `{'.'.join(path)}` is {asked}, but the administrator"
                    f" allows at most {bound} ({rules.where(path)}); ask for no more than that or"
                    " leave the key out"
                )
    return origins


def is_at_most(asked: object, bound: object) -> bool:
    """Tell whether a limit is no larger than another; what is no number is."""
    if not isinstance(asked, int | float) or not isinstance(bound, int | float):
        return False
    return asked <= bound
