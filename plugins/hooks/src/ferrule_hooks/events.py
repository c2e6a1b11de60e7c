"""The events that hooks can be attached to: their names, and what each means in words."""

from __future__ import annotations

from typing import Final, NamedTuple

_JUDGED: Final = (
    *("UserPromptSubmit", "PreToolUse", "PermissionRequest", "PostToolUse", "PostToolUseFailure"),
    *("PreCompact", "Stop", "SubagentStop"),
)


class Event(NamedTuple):
    """One event.

    Attributes:
        name: As hooks files write it.
        label: As trust keys write it.
        when: When its hooks run, in words.
        power: What its hooks can do, in words.
        subject: What a matcher is compared with; empty where matchers mean nothing.
        is_guard: Whether it stands before an effect on the machine: its hooks fail closed.
    """

    name: str
    label: str
    when: str
    power: str = "only watches"
    subject: str = ""
    is_guard: bool = False

    @property
    def is_judged(self) -> bool:
        """Whether a hook's opinion counts there, within a turn."""
        return self.name in _JUDGED


_ALL: Final = (
    Event("SessionStart", "session_start", "when a session starts", "can add context", "source"),
    Event("SessionEnd", "session_end", "when a session ends", subject="reason"),
    Event(
        "UserPromptSubmit",
        "user_prompt_submit",
        "when you send a prompt",
        "can refuse it or add context",
    ),
    Event(
        "PreToolUse",
        "pre_tool_use",
        "before a tool runs",
        "can refuse the call, have it asked about, or change it",
        "tool",
        is_guard=True,
    ),
    Event(
        "PermissionRequest",
        "permission_request",
        "before you or a reviewer are asked",
        "can refuse the call",
        "tool",
        is_guard=True,
    ),
    Event(
        "PostToolUse",
        "post_tool_use",
        "after a tool ran",
        "can replace what the model reads of it",
        "tool",
    ),
    Event(
        "PostToolUseFailure",
        "post_tool_use_failure",
        "after a call was refused or failed",
        "can replace what the model reads of it",
        "tool",
    ),
    Event("PreModelRequest", "pre_model_request", "before the model is asked"),
    Event("PostModelRequest", "post_model_request", "after the model answered"),
    Event(
        "PreCompact",
        "pre_compact",
        "before the history is shortened",
        "can keep it as it is",
        "trigger",
    ),
    Event("PostCompact", "post_compact", "after the history was shortened", subject="trigger"),
    Event("SubagentStart", "subagent_start", "when a subagent starts", subject="agent_type"),
    Event(
        "SubagentStop",
        "subagent_stop",
        "when a subagent is about to stop",
        "can have it go on",
        "agent_type",
    ),
    Event("Stop", "stop", "when the model is about to stop", "can have it go on"),
    Event("Interrupt", "interrupt", "when a turn is interrupted"),
    Event(
        "Notification",
        "notification",
        "when somebody who looks elsewhere is told something",
        subject="notification_type",
    ),
)
EVENTS: Final = {event.name: event for event in _ALL}
