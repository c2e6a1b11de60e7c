"""The hooks: what happens in a session is counted, and written down when a turn ends.

All of them only observe: they answer nothing, and what goes wrong here is told once and costs no
session anything. Approvals are counted by `ferrule_notify` for that reason: in the hook
`ferrule_permission_request`, which judges, a fault would be a refusal.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import Final, NamedTuple

from ferrule_hookspecs import Notification, PluginContext, ToolCall, ToolResult, hookimpl
from ferrule_hookspecs.history import HistoryItem
from ferrule_hookspecs.provider import ModelRequest
from ferrule_hookspecs.threads import TokenUsage, Turn, TurnError
from ferrule_hookspecs.tools import TurnInfo
from gallery_metrics.samples import Sample, counted, observed


class Session(NamedTuple):
    """Where a session writes to, and what is not written yet."""

    file: Path
    waiting: Counter[Sample]


# Plain functions run in threads, and calls of tools may overlap.
_lock: Final = Lock()
_sessions: Final[dict[str, Session]] = {}


@hookimpl
def ferrule_session_start(context: PluginContext) -> None:
    """Remember where the session writes to: later hooks are given no context."""
    path = Path(str(context.settings.get("path", "metrics.prom"))).expanduser()
    with _lock:
        _sessions[context.thread_id] = Session(context.home / path, Counter())


@hookimpl
def ferrule_request_after(
    request: ModelRequest,
    items: Sequence[HistoryItem],
    usage: TokenUsage | None,
    error: TurnError | None,
    turn: TurnInfo,
) -> None:
    """Count a request to the model, and its tokens."""
    outcome = "failed" if error else "completed"
    samples = counted("ferrule_requests", model=request.model, outcome=outcome)
    if usage:
        read, cached = usage["inputTokens"], usage["cachedInputTokens"]
        kinds = {"input": read - cached, "cached": cached, "output": usage["outputTokens"]}
        for kind, tokens in kinds.items():
            samples += counted("ferrule_tokens", tokens, model=request.model, kind=kind)
        samples += observed("ferrule_request_tokens", usage["totalTokens"])
    _add(turn.thread_id, samples)


@hookimpl
def ferrule_tool_after(call: ToolCall, result: ToolResult, turn: TurnInfo) -> None:
    """Count a call that ran."""
    outcome = "completed" if result.success else "failed"
    _add(turn.thread_id, counted("ferrule_tool_calls", tool=call.tool, outcome=outcome))


@hookimpl
def ferrule_tool_failure(call: ToolCall, reason: str, turn: TurnInfo) -> None:
    """Count a call that was refused, or raised."""
    _add(turn.thread_id, counted("ferrule_tool_calls", tool=call.tool, outcome="refused"))


@hookimpl
def ferrule_notify(notification: Notification) -> None:
    """Count what had to be approved."""
    if notification.kind == "approval_needed":
        _add(notification.thread_id, counted("ferrule_approvals"))


@hookimpl
def ferrule_turn_end(turn: TurnInfo, outcome: Turn) -> None:
    """Count the turn, and write everything down."""
    samples = counted("ferrule_turns", status=outcome["status"])
    samples += observed("ferrule_turn_seconds", (outcome.get("durationMs") or 0) / 1000)
    _add(turn.thread_id, samples)
    _write(turn.thread_id)


@hookimpl
def ferrule_session_end(context: PluginContext) -> None:
    """Write what came behind the last turn, and forget the session."""
    _write(context.thread_id)
    with _lock:
        _sessions.pop(context.thread_id, None)


def _add(thread_id: str, samples: Counter[Sample]) -> None:
    with _lock:
        if session := _sessions.get(thread_id):
            session.waiting.update(samples)


def _write(thread_id: str) -> None:
    from gallery_metrics.file import write  # sqlite3 takes a while to import

    with _lock:
        session = _sessions.get(thread_id)
        samples = session.waiting.copy() if session else Counter[Sample]()
        if session:
            session.waiting.clear()
    if not session or not samples:
        return
    try:
        write(session.file, samples)
    except Exception:
        _add(thread_id, samples)  # they are written with what comes next
        raise
