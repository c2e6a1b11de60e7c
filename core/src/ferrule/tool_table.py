"""What the configuration says of one tool: `[tools.NAME]`, or `tools.NAME = false`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule.config.tables import lookup, table_at

if TYPE_CHECKING:
    from collections.abc import Mapping


def tool_table(values: Mapping[str, object], name: str) -> Mapping[str, object]:
    """Return the table of a tool; empty where there is none."""
    value = lookup(values, ("tools", name))
    return {"enabled": value} if isinstance(value, bool) else table_at(values, "tools", name)
