"""Compaction: when it is due, and putting a compactor's shorter history in place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from ferrule.containment import contained
from ferrule.context_changes import tell_again
from ferrule.dispatcher import strictest
from ferrule.ids import uuid7
from ferrule.transcript import well_formed
from ferrule_hookspecs.errors import FerruleError

if TYPE_CHECKING:
    from ferrule.conversation import Conversation
    from ferrule.session_parts import SessionParts
    from ferrule_hookspecs.provider import ModelRequest
    from ferrule_hookspecs.threads import TokenUsage

Reason = Literal["manual", "auto", "overflow"]


class CompactionError(FerruleError):
    """The history could not be shortened and stands as it was."""


def is_due(parts: SessionParts, last: TokenUsage | None) -> bool:
    """Whether the last response came near the end of the window, and a compactor is there."""
    limit = parts.settings.auto_compact_limit
    if parts.compactor is None or limit is None or last is None:
        return False
    return last["totalTokens"] > limit


async def compact(
    parts: SessionParts,
    conversation: Conversation,
    request: ModelRequest,
    reason: Reason,
) -> None:
    """Replace the history by a shorter one.

    Raises:
        CompactionError: No compactor, a plugin's refusal, or a result that is not shorter.
    """
    if parts.compactor is None:
        raise CompactionError("no compactor is configured: set `compactor` in config.toml")
    info = parts.turn_info(request.turn_id)
    verdict = strictest(
        await parts.hooks.assess("ferrule_compact_before", turn=info, reason=reason)
    )
    if verdict.decision == "deny":
        raise CompactionError(f"compaction was refused: {verdict.reason}")
    item_id = uuid7()
    parts.recorder.item_started({"type": "contextCompaction", "id": item_id})
    with contained("the compactor"):
        result = await parts.compactor().compact(request, parts.provider, reason=reason)
        history = well_formed(result.history)
        if not result.summary.strip() or len(history) >= len(conversation.items):
            raise CompactionError("the compactor gave no shorter history; the old one is kept")
    conversation.replace(history, result.summary)
    await tell_again(parts, conversation, request.turn_id)
    parts.recorder.item_completed({"type": "contextCompaction", "id": item_id})
    await parts.hooks.observe("ferrule_compact_after", turn=info, summary=result.summary)
