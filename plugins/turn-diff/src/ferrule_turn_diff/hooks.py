"""What the kernel calls: tells the changes of a turn, against how it found the workspace."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_hookspecs import hookimpl

if TYPE_CHECKING:
    from ferrule_hookspecs.plugins import PluginContext
    from ferrule_hookspecs.tools import TurnInfo


@hookimpl
def ferrule_turn_diff(turn: TurnInfo, context: PluginContext) -> str | None:
    """Tell what changed since the first call for this turn."""
    from ferrule_turn_diff.turns import diff_of

    return diff_of(turn, context)
