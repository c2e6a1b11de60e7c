"""Methods for clients: `thread/goal/set`, `thread/goal/get` and `thread/goal/clear`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NotRequired, cast

from typing_extensions import TypedDict

from ferrule_goals.registry import book_of
from ferrule_hookspecs.goals import GoalClearedParams, GoalUpdatedParams, ThreadGoal
from ferrule_hookspecs.serving import RpcCall, RpcError, RpcMethod

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ferrule_goals.book import GoalBook
    from ferrule_goals.goal import Status


class GoalSetParams(TypedDict):
    """The goal, or what is to change of it; without a status it is to be worked on."""

    threadId: str
    objective: NotRequired[str | None]
    status: NotRequired[
        Literal["active", "paused", "blocked", "usageLimited", "budgetLimited", "complete"] | None
    ]
    tokenBudget: NotRequired[int | None]
    origin: NotRequired[Literal["user", "automatic"] | None]


class GoalThreadParams(TypedDict):
    """A thread that is open."""

    threadId: str


class GoalSetResult(TypedDict):
    """The goal as it now stands."""

    goal: ThreadGoal


class GoalGetResult(TypedDict):
    """The goal as it stands; None where there is none."""

    goal: ThreadGoal | None


class GoalClearResult(TypedDict):
    """Whether there was one."""

    cleared: bool


def _book(call: RpcCall) -> GoalBook:
    thread_id = str(call.params["threadId"])
    book = book_of(thread_id)
    if book is None:
        raise RpcError(f"thread not found: {thread_id}; resume it, and have `features.goals` on")
    return book


async def _set(call: RpcCall) -> Mapping[str, object]:
    book, params = _book(call), call.params
    goal = book.replace(
        cast("str | None", params.get("objective")),
        cast("Status | None", params.get("status")),
        cast("int | None", params.get("tokenBudget")),
    )
    await book.go_on()
    return {"goal": goal.as_wire(book.thread_id)}


async def _get(call: RpcCall) -> Mapping[str, object]:
    book = _book(call)
    goal = book.current()
    return {"goal": None if goal is None else goal.as_wire(book.thread_id)}


async def _clear(call: RpcCall) -> Mapping[str, object]:
    return {"cleared": _book(call).clear()}


METHODS = (
    RpcMethod(
        "thread/goal/set",
        _set,
        GoalSetParams,
        result=GoalSetResult,
        notifications={"thread/goal/updated": GoalUpdatedParams},
    ),
    RpcMethod("thread/goal/get", _get, GoalThreadParams, result=GoalGetResult),
    RpcMethod(
        "thread/goal/clear",
        _clear,
        GoalThreadParams,
        result=GoalClearResult,
        notifications={"thread/goal/cleared": GoalClearedParams},
    ),
)
