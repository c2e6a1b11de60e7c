"""The hooks of the contract, on which the user's hooks run. Loads nothing where there are none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ferrule_hookspecs import hookimpl
from ferrule_hookspecs.markers import patient

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ferrule_hooks.session import HookSession
    from ferrule_hookspecs.history import HistoryItem
    from ferrule_hookspecs.hooks import Continue, Notification, OutputReply, PromptReply
    from ferrule_hookspecs.items import UserInput
    from ferrule_hookspecs.plugins import PluginContext
    from ferrule_hookspecs.provider import ModelRequest
    from ferrule_hookspecs.review import ReviewRequest, Verdict
    from ferrule_hookspecs.serving import RpcMethod
    from ferrule_hookspecs.threads import TokenUsage, Turn, TurnError
    from ferrule_hookspecs.tools import ToolCall, ToolResult, TurnInfo

# The user's hooks have deadlines of their own, of an hour at most; a sequence may need several.
_PATIENCE_S: Final = 4 * 3600.0
_sessions: dict[str, HookSession | None] = {}
"""The hooks of every open session by thread; None where there are none."""
_stamps: dict[str, object] = {}
"""What they were read from, by thread."""


def _session(turn: TurnInfo, event: str) -> HookSession | None:
    session = _sessions.get(turn.thread_id)
    return session if session is not None and session.has(event) else None


def _open(context: PluginContext) -> HookSession | None:
    """Read the hooks of a session, once."""
    if context.thread_id in _sessions:
        return _sessions[context.thread_id]
    from ferrule_hooks.places import stamps_of

    stamps = stamps_of(context)  # taken first: what changes while it is read is read again
    session = _sessions[context.thread_id] = _read(context, None)
    _stamps[context.thread_id] = stamps
    return session


def _read(context: PluginContext, session: HookSession | None) -> HookSession | None:
    """Read the hooks, for a session that may have some already."""
    from ferrule_hooks.places import has_hooks

    if session is None and not has_hooks(context):
        return None
    from ferrule_hooks.session import HookSession
    from ferrule_hooks.sources import read_handlers

    broken: list[str] = []
    handlers = read_handlers(context, broken)
    if session is not None:
        session.renew(context, handlers, broken)
        return session
    return HookSession(context, handlers, broken) if handlers or broken else None


@hookimpl
def ferrule_rpc_methods(context: PluginContext) -> Sequence[RpcMethod]:
    """Offer the list of hooks to servers."""
    from ferrule_hooks.rpc import methods

    return methods(context)


@hookimpl
@patient(_PATIENCE_S)
async def ferrule_session_start(context: PluginContext, source: str) -> None:
    """Read the hooks and run those of SessionStart."""
    session = _open(context)
    if session is not None and session.has("SessionStart"):
        from ferrule_hooks.lifecycle import session_started

        await session_started(session, source)


@hookimpl
async def ferrule_session_end(context: PluginContext, reason: str) -> None:
    """Run the hooks of SessionEnd and end what still runs."""
    session = _sessions.pop(context.thread_id, None)
    _stamps.pop(context.thread_id, None)
    if session is not None:
        from ferrule_hooks.lifecycle import session_ended

        await session_ended(session, reason)


@hookimpl
@patient(_PATIENCE_S)
async def ferrule_subagent_start(context: PluginContext, parent_thread_id: str) -> None:
    """Run the hooks of SubagentStart."""
    session = _sessions.get(context.thread_id)
    if session is not None and session.has("SubagentStart"):
        from ferrule_hooks.lifecycle import subagent_started

        await subagent_started(session, parent_thread_id)


@hookimpl
async def ferrule_context_updates(context: PluginContext, told: Mapping[str, str]) -> None:
    """Read the hooks anew before a turn where their files have changed; the model is told nothing.

    A hook whose text is not trusted as it is now does not run, whatever stood there before.
    """
    from ferrule_hooks.places import stamps_of

    thread, stamps = context.thread_id, stamps_of(context)
    if thread not in _stamps or _stamps[thread] == stamps:
        return
    before = _sessions.get(thread)
    session = _sessions[thread] = _read(context, before)
    _stamps[thread] = stamps
    if before is None and session is not None:
        from ferrule_hooks.session import READ_ANEW

        context.warn(READ_ANEW)


@hookimpl
@patient(_PATIENCE_S)
async def ferrule_prompt_submit(prompt: Sequence[UserInput], turn: TurnInfo) -> PromptReply | None:
    """Run the hooks of UserPromptSubmit, and hand on what SessionStart hooks said."""
    session = _sessions.get(turn.thread_id)
    if session is None:
        return None
    from ferrule_hooks.lifecycle import prompt_submitted

    return await prompt_submitted(session, prompt, turn)


@hookimpl
@patient(_PATIENCE_S)
async def ferrule_tool_rewrite(call: ToolCall, turn: TurnInfo) -> ToolCall | None:
    """Run the hooks of PreToolUse; they may change the call."""
    session = _session(turn, "PreToolUse")
    if session is None or call.call_id in session.own_calls:
        return None
    from ferrule_hooks.calls import judge

    judgement = await judge(session, call, turn)
    session.judged[call.call_id] = judgement
    is_refused = judgement.verdict is not None and judgement.verdict.decision == "deny"
    return judgement.call if judgement.is_changed and not is_refused else None


@hookimpl
@patient(_PATIENCE_S)
async def ferrule_tool_before(
    call: ToolCall, turn: TurnInfo, context: PluginContext
) -> Verdict | None:
    """Say what the hooks of PreToolUse said; what another plugin changed is judged anew."""
    session = _open(context)  # where reading failed before, it fails again, which refuses the call
    if session is None or call.call_id in session.own_calls:
        return None
    if not session.has("PreToolUse"):
        return session.doubt()
    from ferrule_hooks.calls import judge
    from ferrule_hooks.tool_view import same_call

    judged = session.judged.get(call.call_id)
    if judged is not None:
        is_refused = judged.verdict is not None and judged.verdict.decision == "deny"
        if is_refused or same_call(judged.call, call):
            return session.doubt(judged.verdict)
    judgement = await judge(session, call, turn, may_change=False)
    session.judged[call.call_id] = judgement
    return session.doubt(judgement.verdict)


@hookimpl
@patient(_PATIENCE_S)
async def ferrule_permission_request(request: ReviewRequest, turn: TurnInfo) -> Verdict | None:
    """Run the hooks of PermissionRequest."""
    session = _session(turn, "PermissionRequest")
    if session is None or request.call.call_id in session.own_calls:
        return None
    from ferrule_hooks.calls import judge_request

    return await judge_request(session, request, turn)


@hookimpl
@patient(_PATIENCE_S)
async def ferrule_tool_output(
    call: ToolCall, result: ToolResult, failure: str | None, turn: TurnInfo
) -> OutputReply | None:
    """Run the hooks of PostToolUse or PostToolUseFailure."""
    session = _sessions.get(turn.thread_id)
    if session is None:
        return None
    from ferrule_hooks.calls import judge_output

    return await judge_output(session, call, result, failure, turn)


@hookimpl
@patient(_PATIENCE_S)
async def ferrule_request_before(request: ModelRequest, turn: TurnInfo) -> None:
    """Run the hooks of PreModelRequest."""
    if session := _session(turn, "PreModelRequest"):
        from ferrule_hooks.lifecycle import request_made

        await request_made(session, turn)


@hookimpl
@patient(_PATIENCE_S)
async def ferrule_request_after(
    request: ModelRequest,
    items: Sequence[HistoryItem],
    usage: TokenUsage | None,
    error: TurnError | None,
    turn: TurnInfo,
) -> None:
    """Run the hooks of PostModelRequest."""
    if session := _session(turn, "PostModelRequest"):
        from ferrule_hooks.lifecycle import request_answered

        await request_answered(session, usage, error, turn)


@hookimpl
@patient(_PATIENCE_S)
async def ferrule_compact_before(turn: TurnInfo, reason: str) -> Verdict | None:
    """Run the hooks of PreCompact."""
    session = _sessions.get(turn.thread_id)
    if session is None:
        return None
    from ferrule_hooks.lifecycle import compaction_planned

    return await compaction_planned(session, reason, turn)


@hookimpl
@patient(_PATIENCE_S)
async def ferrule_compact_after(turn: TurnInfo, summary: str) -> None:
    """Run the hooks of PostCompact."""
    if session := _session(turn, "PostCompact"):
        from ferrule_hooks.lifecycle import compaction_done

        await compaction_done(session, summary, turn)


@hookimpl
@patient(_PATIENCE_S)
async def ferrule_turn_stop(turn: TurnInfo, last_message: str | None) -> Continue | None:
    """Run the hooks of Stop, or of SubagentStop in a subagent."""
    session = _session(turn, "Stop" if turn.parent_thread_id is None else "SubagentStop")
    if session is None:
        return None
    from ferrule_hooks.lifecycle import turn_stopping

    return await turn_stopping(session, last_message, turn)


@hookimpl
async def ferrule_turn_end(turn: TurnInfo, outcome: Turn) -> None:
    """Run the hooks of Interrupt after an interrupted turn, and forget the turn."""
    session = _sessions.get(turn.thread_id)
    if session is not None:
        from ferrule_hooks.lifecycle import turn_ended

        await turn_ended(session, outcome, turn)


@hookimpl
async def ferrule_notify(notification: Notification, context: PluginContext) -> None:
    """Run the hooks of Notification."""
    session = _sessions.get(context.thread_id)
    if session is not None and session.has("Notification"):
        from ferrule_hooks.lifecycle import notified

        await notified(session, notification)
