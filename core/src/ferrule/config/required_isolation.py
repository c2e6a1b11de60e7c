"""Where the tools of plugins run, as the administrator fixes it: `[plugins.isolation]`.

What the administrator names is fixed as it is said there. With `default = "process"` nobody else's
`none` counts; a wish for more confinement always does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ferrule.config.tables import table_at

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ferrule.config.tables import KeyPath, Table

ISOLATION: Final[KeyPath] = ("plugins", "isolation")


def required_isolation(values: Mapping[str, object], rules: Mapping[str, object]) -> Table:
    """Return the table that counts; empty where the administrator says nothing of it.

    Args:
        values: The effective values.
        rules: The administrator's.
    """
    fixed = table_at(rules, *ISOLATION)
    if not fixed:
        return {}
    is_strict = fixed.get("default") == "process"
    own = {
        name: said
        for name, said in table_at(values, *ISOLATION).items()
        if said == "process" or not is_strict
    }
    return {**own, **fixed}
