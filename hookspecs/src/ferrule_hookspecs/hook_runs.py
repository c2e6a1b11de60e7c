"""What clients are told of the user's programs that run at the events of a turn."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict


class HookOutputEntry(TypedDict):
    """Something a program said."""

    kind: Literal["warning", "stop", "feedback", "context", "error"]
    text: str


class HookRun(TypedDict):
    """One run of a program; times are Unix seconds."""

    id: str
    eventName: str
    handlerType: Literal["command", "mcpTool", "prompt", "agent"]
    executionMode: Literal["sync", "async"]
    scope: Literal["thread", "turn"]
    source: Literal["system", "user", "project", "sessionFlags"]
    sourcePath: str
    displayOrder: int
    status: Literal["running", "completed", "failed", "blocked", "stopped"]
    statusMessage: str | None
    startedAt: int
    completedAt: int | None
    durationMs: int | None
    entries: list[HookOutputEntry]


class HookRunParams(TypedDict):
    """A run, and the turn it belongs to."""

    threadId: str
    turnId: str | None
    run: HookRun


class HookStarted(TypedDict):
    """A program of the user was started."""

    method: Literal["hook/started"]
    params: HookRunParams


class HookCompleted(TypedDict):
    """A program of the user has ended, or failed."""

    method: Literal["hook/completed"]
    params: HookRunParams
