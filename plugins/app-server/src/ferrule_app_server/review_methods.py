"""`review/start`: a review of changes, in the thread itself or in a copy of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, NotRequired, cast

from pydantic import Field
from typing_extensions import TypedDict

from ferrule_app_server.begun_turn import begun_turn
from ferrule_app_server.calls import server_of, thread_of
from ferrule_app_server.opening import options_for
from ferrule_app_server.stored_threads import find_stored
from ferrule_app_server.thread_opening import announce
from ferrule_app_server.thread_params import ThreadIdParams
from ferrule_app_server.thread_shelf import check_id
from ferrule_hookspecs.change_review import (
    BaseBranchTarget,
    CommitTarget,
    CustomTarget,
    UncommittedTarget,
)
from ferrule_hookspecs.errors import FerruleError
from ferrule_hookspecs.serving import RpcCall, RpcMethod
from ferrule_hookspecs.threads import Turn

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ferrule_hookspecs.change_review import ReviewTarget
    from ferrule_hookspecs.host import Session
    from ferrule_hookspecs.ops import ReviewStart

_NAME = "Review"


class ReviewStartParams(ThreadIdParams):
    """Parameters of `review/start`; `detached` reviews in a fork of the thread."""

    target: Annotated[
        UncommittedTarget | BaseBranchTarget | CommitTarget | CustomTarget,
        Field(discriminator="type"),
    ]
    delivery: NotRequired[Literal["inline", "detached"] | None]


class ReviewStarted(TypedDict):
    """The turn that reviews, and the thread it runs in."""

    turn: Turn
    reviewThreadId: str


async def _review(call: RpcCall) -> Mapping[str, object]:
    target = cast("ReviewTarget", call.params["target"])
    if call.params.get("delivery") == "detached":
        return await _detached(call, target)
    live = thread_of(call)
    turn_id = await live.perform_turn(_op(live.id, target))
    return {"turn": begun_turn(turn_id), "reviewThreadId": live.id}


async def _detached(call: RpcCall, target: ReviewTarget) -> Mapping[str, object]:
    """Review in a fork; where nothing can be reviewed, nobody hears of the fork."""
    server, thread_id = server_of(call), str(call.params["threadId"])
    check_id(thread_id)
    stored = find_stored(server, thread_id)
    options = options_for(server, {}, cwd=stored.cwd)._replace(inherits=True, name=_NAME)
    turns = len(server.stored_turns(thread_id))
    session = await server.kernel.threads.fork(thread_id, options)
    new_id = session.thread["id"]
    try:
        turn_id = (await session.perform(_op(new_id, target)))["turnId"]
    except FerruleError:
        await _discard(call, session)
        raise
    live = server.threads.add(session, turns)
    announce(call, live)
    return {"turn": begun_turn(turn_id), "reviewThreadId": new_id}


async def _discard(call: RpcCall, session: Session) -> None:
    await session.close()
    server_of(call).kernel.threads.store.delete(session.thread["id"])


def _op(thread_id: str, target: ReviewTarget) -> ReviewStart:
    params = {"threadId": thread_id, "target": target}
    return cast("ReviewStart", {"id": "", "method": "review/start", "params": params})


METHODS = (RpcMethod("review/start", _review, ReviewStartParams, result=ReviewStarted),)
