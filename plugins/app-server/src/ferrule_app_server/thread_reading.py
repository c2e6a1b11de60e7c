"""Methods that only look: lists of threads, turns and items."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

import anyio
import anyio.to_thread

from ferrule_app_server.calls import server_of
from ferrule_app_server.pages import page, turns_in_view
from ferrule_app_server.stored_threads import all_stored, as_thread
from ferrule_app_server.thread_params import (
    ItemsListParams,
    ItemsReadParams,
    PageParams,
    ThreadListParams,
    ThreadReadParams,
    ThreadSearchParams,
    TurnsListParams,
)
from ferrule_app_server.thread_shelf import check_id
from ferrule_app_server.wire_names import APP_SERVER, EDITOR
from ferrule_hookspecs.errors import ThreadNotFoundError
from ferrule_hookspecs.serving import RpcCall, RpcError, RpcMethod
from ferrule_hookspecs.store import ThreadFilter

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ferrule_app_server.server import AppServer
    from ferrule_hookspecs.items import ThreadItem
    from ferrule_hookspecs.store import ThreadSummary
    from ferrule_hookspecs.threads import Thread, Turn

_INTERACTIVE: Final = ("cli", EDITOR, APP_SERVER)
_SORT: Final = {"updated_at": "updated_at", "recency_at": "updated_at"}


async def _list(call: RpcCall) -> Mapping[str, object]:
    params = call.params
    if params.get("sectionId") or params.get("projectId"):  # neither exists here
        return {"data": [], "nextCursor": None, "backwardsCursor": None}
    found = await _found(call, cast("str | None", params.get("searchTerm")))
    field = _SORT.get(str(params.get("sortKey")), "created_at")
    found.sort(key=lambda each: (getattr(each, field), each.thread_id))
    reply = page(found, params, key=lambda each: each.thread_id, newest_first=True)
    server = server_of(call)
    return {**reply, "data": [as_thread(server, each) for each in reply["data"]]}


async def _search(call: RpcCall) -> Mapping[str, object]:
    found = await _found(call, str(call.params["searchTerm"]))
    found.sort(key=lambda each: (each.updated_at, each.thread_id))
    reply = page(found, call.params, key=lambda each: each.thread_id, newest_first=True)
    server = server_of(call)
    data = [
        {"snippet": each.name or each.preview, "thread": as_thread(server, each)}
        for each in reply["data"]
    ]
    return {**reply, "data": data}


async def _found(call: RpcCall, search: str | None) -> list[ThreadSummary]:
    """Return the stored threads that a client asks for; thousands keep nobody else waiting."""
    params = call.params
    kinds = cast("Sequence[str] | None", params.get("sourceKinds")) or _INTERACTIVE
    if EDITOR in kinds:
        kinds = (*kinds, APP_SERVER)
    with_children = any(kind.startswith("subAgent") for kind in kinds)
    filter_ = ThreadFilter(
        archived=params.get("archived") is True, search=search, include_subagents=with_children
    )
    folders = params.get("cwd")
    wanted = [folders] if isinstance(folders, str) else cast("list[str]", folders or [])
    providers = cast("list[str] | None", params.get("modelProviders")) or []
    parent = params.get("parentThreadId")
    left_out = cast("list[str] | None", params.get("excludedThreadIds")) or []
    store = server_of(call).kernel.threads.store
    stored = await anyio.to_thread.run_sync(lambda: list(all_stored(store, filter_)))
    return [
        each
        for each in stored
        if (each.source in kinds or (each.parent is not None and with_children))
        and (not wanted or each.cwd in wanted)
        and (not providers or each.model_provider in providers)
        and (parent is None or each.parent == parent)
        and each.thread_id not in left_out
    ]


async def _read(call: RpcCall) -> Mapping[str, object]:
    server, thread_id = server_of(call), str(call.params["threadId"])
    check_id(thread_id)
    thread = _thread(server, thread_id)
    if call.params.get("includeTurns") is True:
        thread = {**thread, "turns": list(_turns(server, thread_id))}
    return {"thread": thread}


def _thread(server: AppServer, thread_id: str) -> Thread:
    live = server.threads.get(thread_id)
    if live is not None and live.session.thread["ephemeral"]:
        return live.describe()
    summary = server.kernel.threads.store.find(thread_id)
    if summary is None or summary.thread_id != thread_id:
        if live is not None:
            return live.describe()
        raise RpcError(f"thread not loaded: {thread_id}")
    return as_thread(server, summary)


def _turns(server: AppServer, thread_id: str) -> Sequence[Turn]:
    """Return the turns of a thread, those clients were told of where it is open."""
    check_id(thread_id)
    live = server.threads.get(thread_id)
    if live is not None:
        return live.turns()
    try:
        return server.kernel.threads.turns(thread_id)
    except ThreadNotFoundError:
        raise RpcError(f"thread not loaded: {thread_id}") from None


async def _turns_list(call: RpcCall) -> Mapping[str, object]:
    turns = _turns(server_of(call), str(call.params["threadId"]))
    reply = page(turns, call.params, key=lambda turn: turn["id"], newest_first=True)
    view = str(call.params.get("itemsView") or "summary")
    return {**reply, "data": turns_in_view(reply["data"], view)}


async def _items_list(call: RpcCall) -> Mapping[str, object]:
    wanted = call.params.get("turnId")
    entries = [entry for entry in _entries(call) if wanted is None or entry["turnId"] == wanted]
    return page(entries, call.params, key=_key, newest_first=False)


async def _items_read(call: RpcCall) -> Mapping[str, object]:
    wanted = set(cast("list[str]", call.params["itemIds"]))
    return {
        "data": [
            entry
            for entry in _entries(call)
            if entry["turnId"] == call.params["turnId"] and entry["item"]["id"] in wanted
        ]
    }


def _entries(call: RpcCall) -> list[dict[str, Any]]:
    return [
        {"turnId": turn["id"], "item": item, **_times(item)}
        for turn in _turns(server_of(call), str(call.params["threadId"]))
        for item in turn["items"]
    ]


def _times(item: ThreadItem) -> dict[str, object]:
    """Say beside an item, too, when it began and ended; where that was stored."""
    stored = cast("Mapping[str, object]", item)
    return {name: stored[name] for name in ("startedAtMs", "completedAtMs") if name in stored}


def _key(entry: Mapping[str, Any]) -> str:
    return f"{entry['turnId']}/{entry['item']['id']}"


async def _loaded(call: RpcCall) -> Mapping[str, object]:
    ids = sorted(live.id for live in server_of(call).threads)
    reply = page(ids, call.params, key=str, newest_first=False, default_limit=len(ids) or 1)
    return {"data": reply["data"], "nextCursor": reply["nextCursor"]}


METHODS = (
    RpcMethod("thread/list", _list, ThreadListParams),
    RpcMethod("thread/search", _search, ThreadSearchParams),
    RpcMethod("thread/read", _read, ThreadReadParams),
    RpcMethod("thread/turns/list", _turns_list, TurnsListParams),
    RpcMethod("thread/items/list", _items_list, ItemsListParams),
    RpcMethod("thread/items/read", _items_read, ItemsReadParams),
    RpcMethod("thread/loaded/list", _loaded, PageParams),
)
