"""What the kernel calls: an opinion on every command, and the keeping of accepted amendments.

Nothing is read or loaded before the first command comes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_hookspecs import hookimpl
from ferrule_hookspecs.markers import replayable

if TYPE_CHECKING:
    from ferrule_hookspecs.plugins import PluginContext
    from ferrule_hookspecs.review import Amendment, Verdict
    from ferrule_hookspecs.tools import ToolCall, TurnInfo


@hookimpl
@replayable
async def ferrule_tool_before(
    call: ToolCall, turn: TurnInfo, context: PluginContext
) -> Verdict | None:
    """Judge a command by the rules, and by what commands are known to do."""
    if call.tool != "exec_command":
        return None
    from ferrule_rules.opinion import opinion

    return await opinion(call, turn, context)


@hookimpl
def ferrule_amendment(amendment: Amendment, context: PluginContext) -> None:
    """Append an accepted rule to the user's own file."""
    from ferrule_rules.amendments import keep

    keep(amendment, context.home)


@hookimpl
async def ferrule_session_end(context: PluginContext) -> None:
    """Forget what this session was warned of."""
    import sys

    if opinions := sys.modules.get("ferrule_rules.opinion"):
        opinions.forget(context.thread_id)
