"""The hooks of the contract: lists skills to the model, and puts those before it that are named."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ferrule_hookspecs import hookimpl
from ferrule_hookspecs.hooks import ContextFragment, ContextUpdate, PromptReply

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ferrule_hookspecs.items import UserInput
    from ferrule_hookspecs.plugins import PluginContext
    from ferrule_hookspecs.serving import RpcMethod
    from ferrule_hookspecs.tools import TurnInfo
    from ferrule_skills.session_skills import SessionSkills

_KEY: Final = "skills"
_sessions: dict[str, SessionSkills] = {}
"""The skills of every open thread."""


async def _found(context: PluginContext) -> SessionSkills:
    from ferrule_skills.session_skills import SessionSkills

    skills = _sessions.setdefault(context.thread_id, SessionSkills())
    await skills.look(context)
    return skills


@hookimpl
async def ferrule_context_fragments(context: PluginContext) -> Sequence[ContextFragment] | None:
    """List the skills."""
    skills = await _found(context)
    text = skills.listing(context)
    if not text:
        return None
    return [ContextFragment(text, order=60, key=_KEY, state=skills.state)]


@hookimpl
async def ferrule_context_updates(
    context: PluginContext, told: Mapping[str, str]
) -> Sequence[ContextUpdate] | None:
    """Tell which skills came, went or changed."""
    skills = await _found(context)
    before = told.get(_KEY, "")
    if skills.state == before or not skills.is_listed(context):
        return None
    return [ContextUpdate(_KEY, skills.state, skills.changes(context, before))]


@hookimpl
async def ferrule_prompt_submit(prompt: Sequence[UserInput], turn: TurnInfo) -> PromptReply | None:
    """Put the text of the skills before the model that the user names."""
    skills = _sessions.get(turn.thread_id)
    if skills is None or not any(part["type"] == "text" and "$" in part["text"] for part in prompt):
        return None
    text = await skills.named_in(prompt)
    return PromptReply(context=text, role="user") if text else None


@hookimpl
async def ferrule_session_end(context: PluginContext, reason: str) -> None:
    """Forget the skills of the thread."""
    _sessions.pop(context.thread_id, None)


@hookimpl
async def ferrule_rpc_methods(context: PluginContext) -> Sequence[RpcMethod]:
    """Add the methods about skills to the app-server."""
    from ferrule_skills.rpc_methods import methods

    return methods(context)
