"""Stored threads as clients see them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ferrule_app_server import wire_names
from ferrule_app_server.handshake import own_version
from ferrule_hookspecs.serving import RpcError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ferrule_app_server.server import AppServer
    from ferrule_hookspecs.store import ThreadFilter, ThreadStore, ThreadSummary
    from ferrule_hookspecs.threads import GitInfo, Thread

_PAGE: Final = 10_000


def find_stored(server: AppServer, thread_id: str) -> ThreadSummary:
    """Return a stored thread that is not put away.

    Raises:
        RpcError: There is none, or it is archived.
    """
    found = server.kernel.threads.store.find(thread_id)
    if found is None or found.thread_id != thread_id:
        raise RpcError(f"no rollout found for thread id {thread_id}")
    if found.archived:
        raise RpcError(
            f"session {thread_id} is archived. Run `ferrule threads unarchive {thread_id}`"
            " to unarchive it first."
        )
    return found


def all_stored(store: ThreadStore, filter_: ThreadFilter) -> Iterator[ThreadSummary]:
    """Yield stored threads, the last changed first; may run in any thread."""
    offset = 0
    while True:
        found = store.list(replace(filter_, limit=_PAGE, offset=offset))
        yield from found
        if len(found) < _PAGE:
            return
        offset += _PAGE


def as_thread(server: AppServer, summary: ThreadSummary) -> Thread:
    """Return a stored thread in wire form; one that is open as it stands."""
    live = server.threads.get(summary.thread_id)
    preview = summary.preview
    if live is not None:
        return {
            **live.describe(),
            "preview": preview,
            "name": summary.name,
            "updatedAt": summary.updated_at,
            "recencyAt": summary.updated_at,
            "path": summary.path,
        }
    lineage = wire_names.Lineage(
        summary.parent, summary.agent_depth, summary.agent_nickname, summary.agent_role
    )
    return {
        "id": summary.thread_id,
        "sessionId": summary.thread_id,
        "preview": preview,
        "modelProvider": summary.model_provider,
        "model": summary.model,
        "cwd": summary.cwd,
        "cliVersion": own_version(),
        "source": wire_names.source(summary.source, lineage),
        "ephemeral": False,
        "createdAt": summary.created_at,
        "updatedAt": summary.updated_at,
        "status": {"type": "notLoaded"},
        "turns": [],
        "projectId": None,
        "name": summary.name,
        "path": summary.path,
        "forkedFromId": summary.forked_from,
        "parentThreadId": summary.parent,
        "agentNickname": summary.agent_nickname,
        "agentRole": summary.agent_role,
        "gitInfo": _git_info(summary),
        "recencyAt": summary.updated_at,
        "canAcceptDirectInput": None,
    }


def _git_info(summary: ThreadSummary) -> GitInfo | None:
    if summary.git_sha is None and summary.git_branch is None:
        return None
    return {
        "sha": summary.git_sha,
        "branch": summary.git_branch,
        "originUrl": summary.git_origin,
    }
