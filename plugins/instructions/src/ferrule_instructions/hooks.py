"""The hooks of the contract: puts the instructions of AGENTS.md files before the model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ferrule_hookspecs import hookimpl
from ferrule_hookspecs.hooks import ContextFragment, ContextUpdate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ferrule_hookspecs.plugins import PluginContext
    from ferrule_instructions.discovery import Found

_KEY: Final = "agents_md"
_warned: dict[str, set[str]] = {}
"""What was said in every open thread, so that nothing is said twice."""


async def _find(context: PluginContext) -> Found:
    """Read the files away from the event loop, and warn of what is new."""
    from functools import partial

    from anyio.to_thread import run_sync

    from ferrule_instructions.discovery import find

    found = await run_sync(partial(find, context), abandon_on_cancel=True)
    warned = _warned.setdefault(context.thread_id, set())
    for warning in found.warnings:
        if warning not in warned:
            warned.add(warning)
            context.warn(warning)
    return found


@hookimpl
async def ferrule_context_fragments(context: PluginContext) -> Sequence[ContextFragment] | None:
    """Put the files before the model, the user's own first, the nearest last."""
    found = await _find(context)
    if not found.documents:
        return None
    from ferrule_instructions.wording import state_of, whole_text

    sources = [document.path for document in found.documents]
    text = whole_text(context.cwd, found.documents)
    state = state_of(found.documents)
    return [ContextFragment(text, "user", order=50, source=sources, key=_KEY, state=state)]


@hookimpl
async def ferrule_context_updates(
    context: PluginContext, told: Mapping[str, str]
) -> Sequence[ContextUpdate] | None:
    """Tell which files were changed, added or taken away since the model read them."""
    found = await _find(context)
    if not found.documents and _KEY not in told:
        return None
    from ferrule_instructions.wording import change_text, state_of

    state = state_of(found.documents)
    if state == told.get(_KEY, ""):
        return None
    return [ContextUpdate(_KEY, state, change_text(told.get(_KEY, ""), found.documents), "user")]


@hookimpl
async def ferrule_session_end(context: PluginContext, reason: str) -> None:
    """Forget what was said."""
    _warned.pop(context.thread_id, None)
