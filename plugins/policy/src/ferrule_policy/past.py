"""Gathers the actions of past sessions: stored threads, and files of other programs."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from ferrule_hookspecs.errors import FerruleError
from ferrule_hookspecs.store import ThreadFilter
from ferrule_policy.claude import is_transcript, transcript_actions
from ferrule_policy.rollouts import ThreadReader

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ferrule_hookspecs.host import Host, Kernel
    from ferrule_hookspecs.store import ThreadStore
    from ferrule_policy.action import Action

_PAGE: Final = 200
_FIRST: Final = 20
"""So many lines of a file tell what it is."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which sessions to look at.

    Attributes:
        sessions: Threads by id or name, and files; all threads without any.
        last: Only so many threads, the last changed first.
        since: Only threads changed then or later, in Unix seconds.
    """

    sessions: Sequence[str] = ()
    last: int | None = None
    since: float | None = None


@dataclass(slots=True)
class Past:
    """What was found.

    Attributes:
        actions: The calls, in order.
        sessions: How many sessions were read.
        unjudged: Calls that never came to be judged, or whose final form was not kept.
    """

    actions: list[Action] = field(default_factory=list["Action"])
    sessions: int = 0
    unjudged: int = 0


def moment(words: str) -> float:
    """Read a date.

    Raises:
        FerruleError: It is none.
    """
    try:
        found = datetime.fromisoformat(words)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        raise FerruleError(f"--since: {words!r} is no date; write it as 2026-01-31") from None


def gathered(host: Host, wanted: Wanted) -> Past:
    """Read the sessions.

    Raises:
        FerruleError: There is none of a name, or a file is none of a session.
    """
    past = Past()
    files = [name for name in wanted.sessions if _is_file(name)]
    names = [name for name in wanted.sessions if not _is_file(name)]
    for name in files:
        _read_file(Path(name), past)

    async def main(kernel: Kernel) -> None:
        store = kernel.threads.store
        for thread_id in _threads(store, wanted, names):
            reader = ThreadReader(thread_id)
            past.actions += reader.actions(store.read(thread_id))
            past.unjudged += reader.unjudged
            past.sessions += 1

    if names or not files:
        host.run(main)
    return past


def _is_file(name: str) -> bool:
    return name.endswith(".jsonl") or "/" in name


def _threads(store: ThreadStore, wanted: Wanted, names: Sequence[str]) -> list[str]:
    if names:
        return [_thread(store, name) for name in names]
    found: list[str] = []
    offset = 0
    while wanted.last is None or len(found) < wanted.last:
        page = store.list(ThreadFilter(include_subagents=True, limit=_PAGE, offset=offset))
        found += [one.thread_id for one in page if one.updated_at >= (wanted.since or 0)]
        offset += _PAGE
        if len(page) < _PAGE:
            break
    return found[: wanted.last]


def _thread(store: ThreadStore, name: str) -> str:
    found = store.find(name)
    if found is None:
        raise FerruleError(
            f"there is no thread {name!r}; `ferrule threads list` names them, and a transcript is "
            "given as the path of a .jsonl file"
        )
    return found.thread_id


def _read_file(path: Path, past: Past) -> None:
    try:
        text = path.read_text("utf-8", "replace")
    except OSError as error:
        raise FerruleError(f"{path} cannot be read: {error.strerror}") from None
    lines = list(_lines(text))
    past.sessions += 1
    if any(line.get("type") == "session_meta" for line in lines[:_FIRST]):
        reader = ThreadReader(str(path))
        past.actions += reader.actions(lines)
        past.unjudged += reader.unjudged
    elif is_transcript(lines[:_FIRST]):
        past.actions += transcript_actions(str(path), lines)
    else:
        raise FerruleError(f"{path} is neither a rollout nor a transcript of Claude Code")


def _lines(text: str) -> Iterator[Mapping[str, object]]:
    """Yield the objects of a file; a line that is none, such as one cut off, is passed over."""
    for line in text.splitlines():
        try:
            value: object = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            yield cast("Mapping[str, object]", value)
