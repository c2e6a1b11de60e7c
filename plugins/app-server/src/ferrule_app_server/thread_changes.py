"""Methods that change a thread without a turn: its name, place, history and settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from ferrule_app_server.calls import client_of, server_of, thread_of
from ferrule_app_server.epilogue import after_reply
from ferrule_app_server.opening import cursors
from ferrule_app_server.permission_profiles import named_profile, policy_of
from ferrule_app_server.stored_threads import as_thread, find_stored
from ferrule_app_server.thread_params import (
    InjectParams,
    MetadataParams,
    NameParams,
    ReadStateParams,
    RevertParams,
    RollbackParams,
    SettingsParams,
    ThreadIdParams,
)
from ferrule_app_server.thread_shelf import check_id
from ferrule_hookspecs.errors import ThreadNotFoundError
from ferrule_hookspecs.serving import RpcCall, RpcError, RpcMethod

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ferrule_app_server.live_thread import LiveThread
    from ferrule_hookspecs.ops import Op
    from ferrule_hookspecs.threads import Thread

_SETTINGS = ("cwd", "model", "effort", "summary", "approvalPolicy", "approvalsReviewer")


async def _name(call: RpcCall) -> Mapping[str, object]:
    server, thread_id, name = server_of(call), str(call.params["threadId"]), call.params["name"]
    check_id(thread_id)
    live = server.threads.get(thread_id)
    if live is not None:
        await _perform(live, "thread/name/set", name=name)
        return {}
    find_stored(server, thread_id)
    server.kernel.threads.store.set_name(thread_id, str(name))
    _tell_after(call, "thread/name/updated", {"threadId": thread_id, "threadName": name})
    return {}


async def _archive(call: RpcCall) -> Mapping[str, object]:
    return await _put_away(call, "thread/archived", server_of(call).kernel.threads.store.archive)


async def _delete(call: RpcCall) -> Mapping[str, object]:
    return await _put_away(call, "thread/deleted", server_of(call).kernel.threads.store.delete)


async def _put_away(
    call: RpcCall, event: str, change: Callable[[str], None]
) -> Mapping[str, object]:
    """Close a thread where it is open, then have the store do something with it."""
    server, thread_id = server_of(call), str(call.params["threadId"])
    check_id(thread_id)
    async with server.threads.hold(thread_id):
        live = server.threads.get(thread_id)
        if live is not None:
            await live.close(is_put_away=True)
        if live is None or not live.session.thread["ephemeral"]:
            _change_stored(change, thread_id, was_open=live is not None)
    _tell_after(call, event, {"threadId": thread_id})
    return {}


def _change_stored(change: Callable[[str], None], thread_id: str, *, was_open: bool) -> None:
    """Have the store do something with a thread; an open one may not have been written yet."""
    try:
        change(thread_id)
    except ThreadNotFoundError:
        if not was_open:
            raise RpcError(f"no rollout found for thread id {thread_id}") from None


async def _unarchive(call: RpcCall) -> Mapping[str, object]:
    server, thread_id = server_of(call), str(call.params["threadId"])
    check_id(thread_id)
    store = server.kernel.threads.store
    try:
        store.unarchive(thread_id)
    except ThreadNotFoundError:
        raise RpcError(f"no archived rollout found for thread id {thread_id}") from None
    _tell_after(call, "thread/unarchived", {"threadId": thread_id})
    return {"thread": as_thread(server, find_stored(server, thread_id))}


async def _unsubscribe(call: RpcCall) -> Mapping[str, object]:
    thread_id = str(call.params["threadId"])
    check_id(thread_id)
    live = server_of(call).threads.get(thread_id)
    if live is None:
        return {"status": "notLoaded"}
    was_told = live.leave(client_of(call))
    return {"status": "unsubscribed" if was_told else "notSubscribed"}


async def _rollback(call: RpcCall) -> Mapping[str, object]:
    count = cast("int", call.params["numTurns"])
    if count < 1:
        raise RpcError("numTurns must be >= 1")
    return await _take_back(call, count)


async def _revert(call: RpcCall) -> Mapping[str, object]:
    live, turn_id = thread_of(call), str(call.params["beforeTurnId"])
    ids = [turn["id"] for turn in live.turns()]
    if turn_id not in ids:
        raise RpcError(f"turn not found: {turn_id}")
    reply = await _take_back(call, len(ids) - ids.index(turn_id))
    _tell_after(call, "thread/reverted", {"threadId": live.id})
    thread = cast("Thread", reply["thread"])
    return {"thread": {**thread, "turns": []}, **cursors(thread["turns"])}


async def _take_back(call: RpcCall, count: int) -> Mapping[str, object]:
    live, server = thread_of(call), server_of(call)
    kept = max(0, len(live.turns()) - count)
    files = bool(call.params.get("files"))
    await _perform(live, "thread/rollback", numTurns=count, files=files)
    live.timeline.reset(kept)
    thread = live.describe()
    if not thread["ephemeral"]:
        summary = server.kernel.threads.store.find(live.id)
        thread = thread if summary is None else as_thread(server, summary)
    return {"thread": {**thread, "turns": live.turns()}}


async def _metadata(call: RpcCall) -> Mapping[str, object]:
    """Take note of what the client knows of the repository, for as long as the thread is open."""
    server, live = server_of(call), thread_of(call)
    known = dict(live.session.thread.get("gitInfo") or {})
    given = cast("Mapping[str, Any] | None", call.params.get("gitInfo")) or {}
    info: Any = {"sha": None, "branch": None, "originUrl": None, **known, **given}
    live.session.thread["gitInfo"] = info
    summary = server.kernel.threads.store.find(live.id)
    thread = live.describe() if summary is None else as_thread(server, summary)
    return {"thread": thread}


async def _inject(call: RpcCall) -> Mapping[str, object]:
    await _perform(thread_of(call), "thread/inject_items", items=call.params["items"])
    return {}


async def _settings(call: RpcCall) -> Mapping[str, object]:
    await _perform(thread_of(call), "thread/settings/update", **settings_of(call.params))
    return {}


def settings_of(params: Mapping[str, object]) -> dict[str, object]:
    """Return what a client wants changed of a thread's settings, as sessions take it."""
    changes = {key: params[key] for key in _SETTINGS if params.get(key) is not None}
    if "serviceTier" in params:  # None is the account's default, while nothing leaves it as it is
        changes["serviceTier"] = params["serviceTier"]
    profile = named_profile(params, "sandboxPolicy")
    if profile is not None:
        changes["sandboxPolicy"] = policy_of(profile)
    elif params.get("sandboxPolicy") is not None:
        changes["sandboxPolicy"] = params["sandboxPolicy"]
    chosen = cast("Mapping[str, Any] | None", params.get("collaborationMode")) or {}
    if chosen.get("mode") not in (None, "default"):
        raise RpcError(f"collaboration mode {chosen['mode']!r} is not supported by this server")
    wanted = chosen.get("settings") or {}
    for name, key in (("model", "model"), ("reasoning_effort", "effort")):
        if wanted.get(name) is not None:
            changes[key] = wanted[name]
    return changes


async def _read_state(call: RpcCall) -> Mapping[str, object]:
    """Nothing is kept of what was read: everything counts as read."""
    server_of(call).threads.require(str(call.params["threadId"]))
    return {"readState": {"firstUnread": None, "revision": call.params["expectedRevision"]}}


async def _perform(live: LiveThread, method: str, **params: object) -> None:
    op = {"id": "", "method": method, "params": {"threadId": live.id, **params}}
    await live.session.perform(cast("Op", op))


def _tell_after(call: RpcCall, event: str, params: Mapping[str, object]) -> None:
    """Tell every client behind the reply."""
    server = server_of(call)
    after_reply(lambda: server.broadcast(event, params))


METHODS = (
    RpcMethod("thread/name/set", _name, NameParams),
    RpcMethod("thread/archive", _archive, ThreadIdParams),
    RpcMethod("thread/delete", _delete, ThreadIdParams),
    RpcMethod("thread/unarchive", _unarchive, ThreadIdParams),
    RpcMethod("thread/unsubscribe", _unsubscribe, ThreadIdParams),
    RpcMethod("thread/rollback", _rollback, RollbackParams),
    RpcMethod("thread/revert", _revert, RevertParams),
    RpcMethod("thread/metadata/update", _metadata, MetadataParams),
    RpcMethod("thread/inject_items", _inject, InjectParams),
    RpcMethod("thread/settings/update", _settings, SettingsParams),
    RpcMethod("thread/readState/update", _read_state, ReadStateParams),
)
