"""What a listing tells about a thread, derived from its rollout; used by store and index."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, cast

from ferrule.rollout import parse_record
from ferrule_hookspecs.errors import StoreError
from ferrule_hookspecs.store import RolloutRecord, ThreadSummary

if TYPE_CHECKING:
    from ferrule.thread_files import RolloutFile

PREVIEW_LIMIT = 500
"""Characters of the first user message that a listing keeps."""

_HEAD = 160
"""Bytes of a line that hold its type, which is written before the payload."""
_IRRELEVANT = (b'"type":"response_item"', b'"type":"compacted"', b'"type":"world_state"')


def summarize(file: RolloutFile) -> ThreadSummary:
    """Read what a listing shows; raises `StoreError` when the file holds no thread."""
    try:
        with open(file.path, "rb") as stream:
            return _fold(file, stream.read())
    except OSError as error:
        raise StoreError(f"cannot read rollout {file.path}: {error.strerror}") from error


@dataclass(slots=True)
class _Facts:
    """What later records change."""

    model: str | None = None
    name: str | None = None
    preview: str = ""
    total_tokens: int = 0
    last_change: str = ""


def _fold(file: RolloutFile, data: bytes) -> ThreadSummary:
    records = _relevant_records(data)
    meta = next(records, None)
    if meta is None or meta["type"] != "session_meta":
        raise StoreError(f"rollout {file.path} does not start with session metadata")
    facts = _Facts(name=_text(meta["payload"].get("name")) or None)
    for record in records:
        facts.last_change = record.get("timestamp", facts.last_change)
        _take(facts, record["type"], record["payload"])
    summary = _from_meta(file, meta["payload"])
    return replace(
        summary,
        name=facts.name,
        preview=facts.preview,
        model=facts.model,
        total_tokens=facts.total_tokens,
        updated_at=_seconds(facts.last_change, summary.updated_at),
    )


def _relevant_records(data: bytes) -> Iterator[RolloutRecord]:
    """Yield the records a summary needs, and the last one, whatever it is."""
    lines = [line for line in data.split(b"\n") if line]
    last = len(lines) - 1
    for number, line in enumerate(lines):
        head = line[:_HEAD]
        if number != last and any(mark in head for mark in _IRRELEVANT):
            continue  # parsing these would cost most of the time: they hold most of the bytes
        record = parse_record(line.strip(b"\0"))
        if record is not None:
            yield record


def _from_meta(file: RolloutFile, meta: Mapping[str, object]) -> ThreadSummary:
    created_at = _seconds(_text(meta.get("timestamp")), file.mtime_ns // 1_000_000_000)
    source = meta.get("source", "exec")
    depth = meta.get("agent_depth")
    git: Mapping[str, object] = {}
    if isinstance(meta.get("git"), Mapping):
        git = cast("Mapping[str, object]", meta["git"])
    return ThreadSummary(
        thread_id=file.thread_id,
        path=file.path,
        name=None,
        preview="",
        cwd=_text(meta.get("cwd")),
        model=None,
        model_provider=_text(meta.get("model_provider")),
        created_at=created_at,
        updated_at=created_at,
        archived=file.archived,
        forked_from=_text(meta.get("forked_from_id")) or None,
        parent=_text(meta.get("parent_thread_id")) or None,
        source=source if isinstance(source, str) else "subagent",
        git_sha=_text(git.get("sha")) or None,
        git_branch=_text(git.get("branch")) or None,
        git_origin=_text(git.get("originUrl")) or None,
        agent_nickname=_text(meta.get("agent_nickname")) or None,
        agent_role=_text(meta.get("agent_role")) or None,
        agent_depth=depth if isinstance(depth, int) else 0,
    )


def _take(facts: _Facts, type_: str, payload: Mapping[str, object]) -> None:
    if type_ == "turn_context":
        facts.model = _text(payload.get("model")) or facts.model
    elif type_ == "token_usage_record":
        facts.total_tokens = _total(payload) or facts.total_tokens
    elif type_ == "event_msg" and payload.get("type") == "thread_name":
        facts.name = _text(payload.get("name")) or None
    elif type_ == "event_msg" and payload.get("type") == "item_completed" and not facts.preview:
        facts.preview = user_text(payload.get("item"))[:PREVIEW_LIMIT]


def user_text(item: object) -> str:
    """Return the text of a user message item, or nothing for any other item."""
    if not isinstance(item, Mapping):
        return ""
    message = cast("Mapping[str, object]", item)
    content = message.get("content")
    if message.get("type") not in ("userMessage", "UserMessage") or not isinstance(content, list):
        return ""
    parts = [
        cast("Mapping[str, object]", part)
        for part in cast("list[object]", content)
        if isinstance(part, Mapping)
    ]
    return "\n".join(_text(part.get("text")) for part in parts if part.get("type") == "text")


def _total(payload: Mapping[str, object]) -> int:
    for name, count in (("thread", "totalTokens"), ("thread_token_usage", "total_tokens")):
        usage = payload.get(name)
        if isinstance(usage, Mapping):
            total = cast("Mapping[str, object]", usage).get(count)
            if isinstance(total, int):
                return total
    return 0


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _seconds(timestamp: str, default: int) -> int:
    try:
        return int(datetime.fromisoformat(timestamp).timestamp())
    except ValueError:
        return default
