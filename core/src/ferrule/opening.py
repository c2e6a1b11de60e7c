"""A thread while it is being opened: what is known of it, and what it begins with."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final, Literal, cast

import anyio

from ferrule import __version__
from ferrule.containment import contained
from ferrule.git_info import git_info
from ferrule.policy import mode_to_policy
from ferrule.session_parts import SessionParts, Settings
from ferrule.session_view import close_view
from ferrule.stored_settings import stored_facts
from ferrule.transcript import copy_for_fork, read_history
from ferrule_hookspecs.errors import FerruleError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ferrule.family import Kin
    from ferrule_hookspecs.history import HistoryItem
    from ferrule_hookspecs.host import ThreadOptions
    from ferrule_hookspecs.policies import ApprovalPolicy
    from ferrule_hookspecs.store import RolloutRecord, ThreadWriter
    from ferrule_hookspecs.threads import Thread

_TOKEN_LIMIT: Final = 10_000
_CLOSING_S: Final = 5.0
Source = Literal["startup", "resume", "fork"]


@dataclass(slots=True)
class Opening:
    """What is known of a thread while it is being opened."""

    source: Source
    thread_id: str
    options: ThreadOptions
    records: Sequence[RolloutRecord] = ()
    writer: ThreadWriter | None = None
    forked_from: str | None = None
    history: list[HistoryItem] = field(default_factory=list["HistoryItem"])
    parts: SessionParts | None = None
    kin: Kin | None = None


async def give_up(opening: Opening) -> None:
    """Give back what a thread holds that has come to no session."""
    parts = opening.parts
    if parts is None:
        return
    with anyio.CancelScope(shield=True):  # who opens it may be cancelled
        await parts.hooks.observe("ferrule_session_end", context=parts.context, reason="closed")
        closes = [tool.aclose for tool in parts.tools.values()]
        closes += [parts.provider.aclose, parts.close_plugins, partial(close_view, parts)]
        for close in closes:
            with suppress(FerruleError), anyio.move_on_after(_CLOSING_S), contained("a plugin"):
                await close()


def configured(options: ThreadOptions, reviewer: str) -> Settings:
    """What a thread begins with where nothing else is said: as configured."""
    values = options.config.values
    return Settings(
        model=str(values.get("model")),
        cwd=options.cwd,
        approval_policy=cast("ApprovalPolicy", values.get("approval_policy")),
        sandbox_policy=mode_to_policy(values, None),
        reviewer=reviewer,
        service_tier=_text(values.get("service_tier")),
        extra_roots=tuple(options.extra_roots),
        reasoning_effort=_text(values.get("model_reasoning_effort")),
        reasoning_summary=_text(values.get("model_reasoning_summary")),
        verbosity=_text(values.get("model_verbosity")),
        output_token_limit=_number(values.get("tool_output_token_limit")) or _TOKEN_LIMIT,
    )


def recall(opening: Opening, records: Sequence[RolloutRecord], *, copy: bool = False) -> None:
    """Take over a stored thread's history, and for a fork copy its records."""
    options = opening.options
    opening.records = records
    opening.history = read_history(records)
    if copy and opening.writer is not None:
        changes = {"cwd": options.cwd, "source": options.source, "name": options.name}
        for type_, payload in copy_for_fork(records, opening.thread_id, changes):
            opening.writer.append(type_, payload)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _number(value: object) -> int | None:
    return value if isinstance(value, int) else None


def wire_thread(opening: Opening, provider: str, settings: Settings) -> Thread:
    """Describe the thread in wire form."""
    now = int(time.time())
    options = opening.options
    known, is_new = stored_facts(opening.records), opening.source != "resume"
    thread: Thread = {
        "id": opening.thread_id,
        "sessionId": opening.thread_id,
        "preview": known.preview,
        "modelProvider": provider,
        "model": settings.model,
        "cwd": options.cwd,
        "cliVersion": __version__,
        "source": options.source,
        "ephemeral": options.ephemeral,
        "createdAt": now if is_new else known.created_at or now,
        "updatedAt": now,
        "status": {"type": "idle"},
        "turns": [],
        "projectId": None,
        "name": options.name or (None if is_new else known.name),
        "path": None if opening.writer is None else opening.writer.path,
        "forkedFromId": opening.forked_from if is_new else known.forked_from,
        "parentThreadId": options.parent_thread_id,
        "gitInfo": git_info(options.cwd),
    }
    if opening.kin is not None:
        thread["agentNickname"] = opening.kin.options.name or None
        thread["agentRole"] = opening.kin.options.role or None
    return thread


def session_meta(opening: Opening, thread: Thread) -> dict[str, object]:
    """The first record of a new thread."""
    meta: dict[str, object] = {
        "id": opening.thread_id,
        "session_id": opening.thread_id,
        "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "cwd": thread["cwd"],
        "originator": f"ferrule_{thread['source']}",
        "cli_version": __version__,
        "source": thread["source"],
        "model_provider": thread["modelProvider"],
        "parent_thread_id": opening.options.parent_thread_id,
        "name": opening.options.name,
        "git": thread.get("gitInfo"),
    }
    if "devPlugins" in thread:
        meta["dev_plugins"] = thread["devPlugins"]
    if opening.kin is not None:
        meta["agent_nickname"] = opening.kin.options.name or None
        meta["agent_role"] = opening.kin.options.role or None
        meta["agent_settings"] = dict(opening.kin.narrowed.kept)
        meta["agent_depth"] = len(opening.kin.parent.lineage) + 1
    return meta
