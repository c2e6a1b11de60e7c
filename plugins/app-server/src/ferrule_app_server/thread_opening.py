"""`thread/start`, `thread/resume` and `thread/fork`."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from ferrule_app_server.calls import client_of, server_of
from ferrule_app_server.epilogue import after_reply
from ferrule_app_server.live_thread import thread_params
from ferrule_app_server.opening import continued, opened, options_for
from ferrule_app_server.pages import page, turns_in_view
from ferrule_app_server.stored_threads import find_stored
from ferrule_app_server.thread_params import (
    ThreadForkParams,
    ThreadResumeParams,
    ThreadStartParams,
)
from ferrule_app_server.thread_shelf import check_id
from ferrule_hookspecs.serving import RpcCall, RpcError, RpcMethod

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ferrule_app_server.live_thread import LiveThread
    from ferrule_hookspecs.threads import Thread, Turn


async def _start(call: RpcCall) -> Mapping[str, object]:
    server = server_of(call)
    session = await server.kernel.threads.start(options_for(server, call.params))
    live = server.threads.add(session, 0)
    announce(call, live)
    return opened(session, live.describe())


async def _resume(call: RpcCall) -> Mapping[str, object]:
    server, thread_id = server_of(call), str(call.params["threadId"])
    check_id(thread_id, "session")
    live = await server.threads.settled(thread_id)
    turns = None
    if live is None:
        stored = find_stored(server, thread_id)
        options = options_for(server, call.params, cwd=stored.cwd)._replace(inherits=True)
        turns = server.stored_turns(thread_id)
        live = await server.threads.open(
            thread_id, lambda: server.kernel.threads.resume(thread_id, options), len(turns)
        )
        live.describe_as(stored)
        params = {"threadId": thread_id, "status": live.status}
        server.broadcast("thread/status/changed", params)
    connection = client_of(call)
    if turns is None or not live.timeline.is_untouched:
        turns = live.turns()
    live.follow(connection)
    usage = live.usage
    after_reply(lambda: live.catch_up(connection, usage))
    reply = {**opened(live.session, live.describe()), **continued(live.session, turns)}
    return _with_turns(call, reply, turns)


async def _fork(call: RpcCall) -> Mapping[str, object]:
    server, params, thread_id = server_of(call), call.params, str(call.params["threadId"])
    check_id(thread_id, "session")
    stored = find_stored(server, thread_id)
    kept = _kept(server.stored_turns(thread_id), params)
    options = options_for(server, params, cwd=stored.cwd)
    options = options._replace(inherits=True, name=stored.name, keep_turns=len(kept))
    session = await server.kernel.threads.fork(thread_id, options)
    session.thread["preview"] = session.thread["preview"] or stored.preview
    live = server.threads.add(session, len(kept))
    if session.thread["ephemeral"]:
        live.timeline.begin_with(kept)
    announce(call, live)
    return _with_turns(call, opened(session, live.describe()), kept)


def _kept(turns: Sequence[Turn], params: Mapping[str, object]) -> Sequence[Turn]:
    """Return the turns that a fork takes over."""
    before = cast("str | None", params.get("beforeTurnId"))
    last = cast("str | None", params.get("lastTurnId"))
    if before is not None and last is not None:
        raise RpcError("`beforeTurnId` cannot be combined with `lastTurnId`")
    wanted = before or last
    if wanted is None:
        return turns
    ids = [turn["id"] for turn in turns]
    if wanted not in ids:
        raise RpcError(f"turn not found: {wanted}")
    return turns[: ids.index(wanted) + (0 if before else 1)]


def announce(call: RpcCall, live: LiveThread) -> None:
    """Have the caller follow a new thread, and tell of it behind the reply."""
    server = server_of(call)
    live.follow(client_of(call))
    live.begin_after_reply()
    thread = live.describe()
    after_reply(lambda: server.broadcast("thread/started", thread_params(thread)))


def _with_turns(
    call: RpcCall, reply: dict[str, object], turns: Sequence[Turn]
) -> dict[str, object]:
    """Put turns into a reply, as many as the client wants."""
    if call.params.get("excludeTurns") is not True:
        reply["thread"] = {**cast("Thread", reply["thread"]), "turns": list(turns)}
    wanted = cast("Mapping[str, object] | None", call.params.get("initialTurnsPage"))
    if wanted is not None:
        found = page(turns, wanted, key=lambda turn: turn["id"], newest_first=True)
        view = str(wanted.get("itemsView") or "summary")
        reply["initialTurnsPage"] = {**found, "data": turns_in_view(found["data"], view)}
    return reply


METHODS = (
    RpcMethod("thread/start", _start, ThreadStartParams),
    RpcMethod("thread/resume", _resume, ThreadResumeParams),
    RpcMethod("thread/fork", _fork, ThreadForkParams),
)
