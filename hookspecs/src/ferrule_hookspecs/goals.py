"""What a thread works towards, in the app-server v2 wire form; events of the plugin `goals`."""

from __future__ import annotations

from typing import Literal, NotRequired

from typing_extensions import TypedDict


class ThreadGoal(TypedDict):
    """What a thread works towards, and what that has used; times in Unix seconds."""

    threadId: str
    objective: str
    status: Literal["active", "paused", "blocked", "usageLimited", "budgetLimited", "complete"]
    tokenBudget: NotRequired[int | None]
    tokensUsed: int
    timeUsedSeconds: int
    createdAt: int
    updatedAt: int


class GoalUpdatedParams(TypedDict):
    """The goal as it now stands."""

    threadId: str
    turnId: str | None
    goal: ThreadGoal


class GoalUpdated(TypedDict):
    """The thread's goal was set, or changed."""

    method: Literal["thread/goal/updated"]
    params: GoalUpdatedParams


class GoalClearedParams(TypedDict):
    """The thread that has no goal any more."""

    threadId: str


class GoalCleared(TypedDict):
    """The thread's goal was taken away."""

    method: Literal["thread/goal/cleared"]
    params: GoalClearedParams
