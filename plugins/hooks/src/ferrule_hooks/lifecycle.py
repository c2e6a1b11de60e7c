"""What hooks say about the life of a session: its start, prompts, requests, stops and end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ferrule_hooks.payloads import (
    agent_type,
    opening_payload,
    request_payload,
    session_payload,
    token_usage,
    turn_payload,
)
from ferrule_hookspecs.hooks import Continue, PromptReply
from ferrule_hookspecs.review import Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ferrule_hooks.answers import Answer
    from ferrule_hooks.session import HookSession
    from ferrule_hookspecs.hooks import Notification
    from ferrule_hookspecs.items import UserInput
    from ferrule_hookspecs.threads import TokenUsage, Turn, TurnError
    from ferrule_hookspecs.tools import TurnInfo

_ENDING_S: Final = 4.0
"""Below the contract's 5 s: a session does not wait longer for hooks when it ends."""
_NOTIFYING_S: Final = 8.0
_NOTIFICATIONS: Final = {
    "turn_complete": ("idle_prompt", "the turn is complete"),
    "approval_needed": ("permission_prompt", "an approval is needed"),
}


async def session_started(session: HookSession, source: str) -> None:
    """Run SessionStart; what it says to the model goes out with the first prompt."""
    payload = opening_payload(session.context, "SessionStart", source=source)
    _keep(session, await session.run("SessionStart", payload, [source]))


async def subagent_started(session: HookSession, parent: str) -> None:
    """Run SubagentStart."""
    context = session.context
    role = agent_type(context)
    facts = {"agent_id": context.thread_id, "agent_type": role}
    payload = opening_payload(context, "SubagentStart", parent, **facts)
    _keep(session, await session.run("SubagentStart", payload, [role]))


async def session_ended(session: HookSession, reason: str) -> None:
    """Run SessionEnd and end the hooks nobody waited for."""
    shown = "other" if reason == "closed" else reason
    try:
        if session.has("SessionEnd"):
            payload = session_payload(session.context, "SessionEnd", reason=shown)
            await session.run("SessionEnd", payload, [shown], limit_s=_ENDING_S)
    finally:
        await session.aclose()


async def prompt_submitted(
    session: HookSession, prompt: Sequence[UserInput], turn: TurnInfo
) -> PromptReply | None:
    """Run UserPromptSubmit."""
    reason, contexts = session.stop_reason, session.pending_context
    session.stop_reason, session.pending_context = None, []
    if reason is not None:
        return PromptReply(block_reason=reason)
    if session.has("UserPromptSubmit"):
        text = "\n".join(part["text"] for part in prompt if part["type"] == "text")
        payload = turn_payload(session.context, turn, "UserPromptSubmit", prompt=text)
        answers = await session.run("UserPromptSubmit", payload)
        if denial := _denial(answers):
            session.pending_context = contexts
            return PromptReply(block_reason=denial.reason)
        contexts += [answer.context for answer in answers if answer.context]
    return PromptReply(context="\n\n".join(contexts)) if contexts else None


async def request_made(session: HookSession, turn: TurnInfo) -> None:
    """Run PreModelRequest."""
    payload = request_payload(session.context, turn, "PreModelRequest")
    await session.run("PreModelRequest", payload)


async def request_answered(
    session: HookSession, usage: TokenUsage | None, error: TurnError | None, turn: TurnInfo
) -> None:
    """Run PostModelRequest."""
    payload = request_payload(
        session.context,
        turn,
        "PostModelRequest",
        status="completed" if error is None else "failed",
        error=None if error is None else error["message"],
        token_usage=token_usage(usage),
    )
    await session.run("PostModelRequest", payload)


async def compaction_planned(session: HookSession, reason: str, turn: TurnInfo) -> Verdict | None:
    """Run PreCompact."""
    trigger = session.compaction = "manual" if reason == "manual" else "auto"
    payload = turn_payload(session.context, turn, "PreCompact", trigger=trigger)
    denial = _denial(await session.run("PreCompact", payload, [trigger]))
    return None if denial is None else Verdict.deny(denial.reason, denial.handler.place)


async def compaction_done(session: HookSession, summary: str, turn: TurnInfo) -> None:
    """Run PostCompact."""
    trigger = session.compaction
    payload = turn_payload(
        session.context, turn, "PostCompact", trigger=trigger, compact_summary=summary
    )
    await session.run("PostCompact", payload, [trigger])


async def turn_stopping(
    session: HookSession, last_message: str | None, turn: TurnInfo
) -> Continue | None:
    """Run Stop or SubagentStop; a hook that refuses to stop says what to do instead."""
    is_agent = turn.parent_thread_id is not None
    event = "SubagentStop" if is_agent else "Stop"
    payload = turn_payload(
        session.context,
        turn,
        event,
        stop_hook_active=turn.turn_id in session.prolonged,
        last_assistant_message=last_message,
    )
    if is_agent:
        payload["agent_transcript_path"] = session.context.thread_file or None
    answers = await session.run(event, payload, [agent_type(session.context)])
    prompts = [answer.reason for answer in answers if answer.decision == "deny"]
    if not prompts or any(answer.is_stop for answer in answers):
        return None
    session.prolonged.add(turn.turn_id)
    text = "\n\n".join(prompts)
    return Continue(f"<hook_prompt>\n{text}\n</hook_prompt>")


async def turn_ended(session: HookSession, outcome: Turn, turn: TurnInfo) -> None:
    """Forget the turn, and run Interrupt where it was interrupted."""
    session.judged.clear()
    session.prolonged.discard(turn.turn_id)
    if outcome["status"] == "interrupted" and session.has("Interrupt"):
        payload = turn_payload(session.context, turn, "Interrupt")
        await session.run("Interrupt", payload, limit_s=_ENDING_S)


async def notified(session: HookSession, notification: Notification) -> None:
    """Run Notification."""
    kind, text = _NOTIFICATIONS[notification.kind]
    payload = session_payload(
        session.context,
        "Notification",
        turn_id=notification.turn_id,
        message=text,
        notification_type=kind,
    )
    await session.run("Notification", payload, [kind], limit_s=_NOTIFYING_S)


def _keep(session: HookSession, answers: Sequence[Answer]) -> None:
    session.pending_context += [answer.context for answer in answers if answer.context]
    if denial := _denial(answers):
        session.stop_reason = denial.reason


def _denial(answers: Sequence[Answer]) -> Answer | None:
    return next((answer for answer in answers if answer.decision == "deny"), None)
