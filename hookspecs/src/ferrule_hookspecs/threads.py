"""Threads and turns, in the app-server v2 wire form. Times are Unix seconds unless named `…Ms`."""

from __future__ import annotations

from typing import Literal, NotRequired

from typing_extensions import TypedDict

from ferrule_hookspecs.items import ThreadItem

TurnStatus = Literal["inProgress", "completed", "interrupted", "failed"]


class TurnError(TypedDict):
    """Why a turn failed; `codexErrorInfo` is the error class clients switch on."""

    message: str
    codexErrorInfo: NotRequired[str | dict[str, object] | None]
    additionalDetails: NotRequired[str | None]


class Turn(TypedDict):
    """One exchange: from a user's input to the model's last word."""

    id: str
    status: TurnStatus
    items: list[ThreadItem]
    itemsView: NotRequired[Literal["notLoaded", "summary", "full"]]
    error: NotRequired[TurnError | None]
    startedAt: NotRequired[int | None]
    completedAt: NotRequired[int | None]
    durationMs: NotRequired[int | None]


class GitInfo(TypedDict):
    """Where the workspace's repository stood when the thread began."""

    sha: str | None
    branch: str | None
    originUrl: str | None


class IdleStatus(TypedDict):
    """No turn runs."""

    type: Literal["notLoaded", "idle", "systemError"]


class ActiveStatus(TypedDict):
    """A turn runs, perhaps waiting for somebody."""

    type: Literal["active"]
    activeFlags: list[Literal["waitingOnApproval", "waitingOnUserInput"]]


ThreadStatus = IdleStatus | ActiveStatus


class Thread(TypedDict):
    """A conversation. `path` is the rollout file; None for an ephemeral thread.

    `devPlugins` names the plugins that take part from a checkout; it is absent where none does.
    """

    id: str
    sessionId: str
    preview: str
    modelProvider: str
    cwd: str
    cliVersion: str
    source: str
    ephemeral: bool
    createdAt: int
    updatedAt: int
    status: ThreadStatus
    turns: list[Turn]
    projectId: str | None
    name: NotRequired[str | None]
    path: NotRequired[str | None]
    model: NotRequired[str | None]
    forkedFromId: NotRequired[str | None]
    parentThreadId: NotRequired[str | None]
    agentNickname: NotRequired[str | None]
    agentRole: NotRequired[str | None]
    gitInfo: NotRequired[GitInfo | None]
    recencyAt: NotRequired[int | None]
    canAcceptDirectInput: NotRequired[bool | None]
    devPlugins: NotRequired[list[str]]


class TokenUsage(TypedDict):
    """Token counts of one response, one turn or a whole thread."""

    totalTokens: int
    inputTokens: int
    cachedInputTokens: int
    cacheWriteInputTokens: int
    outputTokens: int
    reasoningOutputTokens: int


class Cost(TypedDict):
    """What was spent by the catalogue's prices, in US dollars; None where no price is known."""

    turnUsd: float | None
    totalUsd: float | None


class ThreadTokenUsage(TypedDict):
    """Usage so far: of the last response, of the running turn and of the thread."""

    last: TokenUsage
    turn: TokenUsage
    total: TokenUsage
    modelContextWindow: NotRequired[int | None]
    cost: NotRequired[Cost]
