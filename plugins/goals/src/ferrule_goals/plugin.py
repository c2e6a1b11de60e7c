"""Follows the turns of a thread for its goal: counts what it uses, and keeps it being worked on.

Imported in every session; a thread without a goal costs a look into a table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_goals import registry
from ferrule_hookspecs import hookimpl
from ferrule_hookspecs.hooks import Continue

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ferrule_hookspecs.plugins import PluginContext
    from ferrule_hookspecs.provider import ModelRequest
    from ferrule_hookspecs.serving import RpcMethod
    from ferrule_hookspecs.threads import TokenUsage
    from ferrule_hookspecs.tools import TurnInfo


@hookimpl
async def ferrule_session_start(context: PluginContext) -> None:
    """Take up the goal that the thread has."""
    if context.table("features").get("goals") is not False:
        registry.enter(context)


@hookimpl
async def ferrule_session_end(context: PluginContext) -> None:
    """Forget an open thread."""
    registry.leave(context.thread_id)


@hookimpl
async def ferrule_turn_start(turn: TurnInfo) -> None:
    """The time of a turn counts."""
    if (book := registry.books.get(turn.thread_id)) is not None:
        book.begin_turn(turn.turn_id)


@hookimpl
async def ferrule_turn_end(turn: TurnInfo) -> None:
    """Keep what the goal has used."""
    if (book := registry.books.get(turn.thread_id)) is not None:
        book.end_turn()


@hookimpl
async def ferrule_request_after(
    request: ModelRequest, usage: TokenUsage | None, turn: TurnInfo
) -> None:
    """Count a response; a turn that cannot end the goal, such as a review, is no work on it."""
    book = registry.books.get(turn.thread_id)
    if book is None or book.goal is None or request.kind != "turn":
        return
    book.is_followed = any(tool.name == "update_goal" for tool in request.tools)
    if book.is_followed and usage is not None:
        await book.count(usage)


@hookimpl
async def ferrule_turn_stop(turn: TurnInfo) -> Continue | None:
    """Have the turn go on while the goal is open."""
    book = registry.books.get(turn.thread_id)
    prompt = None if book is None else book.next_prompt()
    return None if prompt is None else Continue(prompt)


@hookimpl
async def ferrule_rpc_methods() -> Sequence[RpcMethod]:
    """Let clients set, read and clear the goal."""
    from ferrule_goals.methods import METHODS

    return METHODS
