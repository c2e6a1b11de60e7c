"""What stands before the model as time goes on: begun once, and changes told at the end.

A new thread begins with the prefix, which is never rewritten. Before every turn, the kernel and its
plugins compare what holds now with what the model was last told, and one note says what differs;
where nothing does, nothing is added. What was told is kept in the turn's context record, so that a
resume, a fork or a rollback go on from the right state. Called by the thread service, the turn
runner and compaction.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final, cast

from ferrule.context import change_text, message, prefix, turn_context
from ferrule.conversation import Conversation
from ferrule.prefix_length import leading_messages
from ferrule.transcript import read_context, read_user_texts
from ferrule_hookspecs.hooks import ContextUpdate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ferrule.session_parts import SessionParts
    from ferrule_hookspecs.history import HistoryItem
    from ferrule_hookspecs.hooks import ContextFragment
    from ferrule_hookspecs.host import ThreadOptions
    from ferrule_hookspecs.store import RolloutRecord

_STATES: Final = "fragments"
"""Key of a turn context under which the states of plugins' fragments are kept."""


async def begin_conversation(
    parts: SessionParts, options: ThreadOptions, copied: Sequence[HistoryItem] = ()
) -> Conversation:
    """Write what a new thread begins with: a prefix, or a copy of another conversation."""
    fragments = await _fragments(parts)
    states = {each.key: each.state for each in fragments if each.key}
    told = turn_context(parts.settings) | {_STATES: states}
    parts.recorder.record("turn_context", told)
    conversation = Conversation(parts.recorder, told=told)
    for item in copied or prefix(parts.context.config, parts.settings, fragments, options):
        conversation.append(item)
    conversation.prefix_length = leading_messages(conversation.items)
    return conversation


async def continue_conversation(
    parts: SessionParts, records: Sequence[RolloutRecord], history: Sequence[HistoryItem]
) -> Conversation:
    """Go on with what is stored; changes are told with the first turn."""
    await _fragments(parts)
    told = read_context(records) or turn_context(parts.settings)
    conversation = Conversation(parts.recorder, history, read_user_texts(records), told)
    conversation.first_told = _first_context(records) or told
    conversation.remember(records)
    return conversation


async def tell_changes(parts: SessionParts, conversation: Conversation, turn_id: str) -> None:
    """Append what changed since the model was last told; nothing where nothing did."""
    settings, told = parts.settings, conversation.told
    states = _states(told)
    texts = [change_text(told, settings, parts.context.config)]
    user_texts: list[str] = []
    for update in await _updates(parts, states):
        if update.state:
            states[update.key] = update.state
        else:
            states.pop(update.key, None)
        (user_texts if update.role == "user" else texts).append(update.text)
    if any(texts):
        conversation.append(message("developer", "\n\n".join(filter(None, texts))))
    if any(user_texts):
        conversation.append(message("user", "\n\n".join(filter(None, user_texts))))
    conversation.told = turn_context(settings) | {_STATES: states}
    parts.recorder.record("turn_context", {"turn_id": turn_id, **conversation.told})


async def tell_again(parts: SessionParts, conversation: Conversation, turn_id: str) -> None:
    """After a compaction, which may drop notes: tell what differs from the thread's beginning."""
    if not conversation.hears_changes:
        return
    conversation.told = conversation.first_told
    await tell_changes(parts, conversation, turn_id)


async def _fragments(parts: SessionParts) -> list[ContextFragment]:
    """Gather what plugins put before the model, sorted, and keep where it comes from."""
    answers = await parts.hooks.gather("ferrule_context_fragments", context=parts.context)
    fragments = sorted(
        (
            (fragment.order, name, fragment)
            for name, answer in answers
            for fragment in cast("Sequence[ContextFragment]", answer)
        ),
        key=lambda each: each[:2],
    )
    sources = [source for _, _, fragment in fragments for source in _sources(fragment)]
    parts.instruction_sources = tuple(dict.fromkeys(sources))
    return [fragment for _, _, fragment in fragments]


def _sources(fragment: ContextFragment) -> Sequence[str]:
    source = fragment.source
    return ([source] if source else []) if isinstance(source, str) else source


async def _updates(parts: SessionParts, states: Mapping[str, str]) -> list[ContextUpdate]:
    context = parts.context._replace(cwd=parts.settings.cwd)
    told = MappingProxyType(dict(states))
    answers = await parts.hooks.gather("ferrule_context_updates", context=context, told=told)
    return [
        update
        for _, answer in answers
        for update in cast("Sequence[object]", answer)
        if isinstance(update, ContextUpdate)
    ]


def _states(told: Mapping[str, object]) -> dict[str, str]:
    states = told.get(_STATES)
    return dict(cast("Mapping[str, str]", states)) if isinstance(states, dict) else {}


def _first_context(records: Sequence[RolloutRecord]) -> Mapping[str, object] | None:
    contexts = (each["payload"] for each in records if each["type"] == "turn_context")
    return next(contexts, None)
