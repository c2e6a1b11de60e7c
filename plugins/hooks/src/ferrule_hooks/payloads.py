"""What hooks are told: one JSON object each, in the shapes of Codex and Claude Code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ferrule_hookspecs.plugins import PluginContext
    from ferrule_hookspecs.threads import TokenUsage
    from ferrule_hookspecs.tools import TurnInfo

Payload = dict[str, object]
_AGENT_TYPE: Final = "default"


def session_payload(
    context: PluginContext, event: str, parent: str | None = None, **facts: object
) -> Payload:
    """Describe an event of a session."""
    return {
        "session_id": parent or context.thread_id,
        "transcript_path": context.thread_file or None,
        "cwd": context.cwd,
        "hook_event_name": event,
        **facts,
    }


def opening_payload(
    context: PluginContext, event: str, parent: str | None = None, **facts: object
) -> Payload:
    """Describe the start of a session, which no turn belongs to."""
    policy = context.config.get("approval_policy")
    return session_payload(
        context,
        event,
        parent,
        model=str(context.config.get("model")),
        permission_mode=_permission_mode(policy),
        **facts,
    )


def agent_type(context: PluginContext) -> str:
    """What a subagent is for."""
    return context.role or _AGENT_TYPE


def turn_payload(context: PluginContext, turn: TurnInfo, event: str, **facts: object) -> Payload:
    """Describe an event of a turn."""
    payload: Payload = {
        "session_id": turn.parent_thread_id or turn.thread_id,
        "turn_id": turn.turn_id,
        "transcript_path": context.thread_file or None,
        "cwd": turn.cwd,
        "hook_event_name": event,
        "model": turn.model,
        "permission_mode": _permission_mode(turn.approval_policy),
        **facts,
    }
    if turn.parent_thread_id is not None:
        payload |= {"agent_id": turn.thread_id, "agent_type": agent_type(context)}
    return payload


def request_payload(context: PluginContext, turn: TurnInfo, event: str, **facts: object) -> Payload:
    """Describe an event of a model request, for which permissions do not matter."""
    payload = turn_payload(context, turn, event, **facts)
    del payload["permission_mode"]
    return payload


def token_usage(usage: TokenUsage | None) -> Payload | None:
    """Describe token counts."""
    if usage is None:
        return None
    return {
        "input_tokens": usage["inputTokens"],
        "cached_input_tokens": usage["cachedInputTokens"],
        "cache_write_input_tokens": usage["cacheWriteInputTokens"],
        "output_tokens": usage["outputTokens"],
        "reasoning_output_tokens": usage["reasoningOutputTokens"],
        "total_tokens": usage["totalTokens"],
    }


def _permission_mode(policy: object) -> str:
    return "bypassPermissions" if policy == "never" else "default"
