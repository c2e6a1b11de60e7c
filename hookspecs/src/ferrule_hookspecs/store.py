"""Thread stores: where rollouts live. Slot `ferrule.stores`.

A rollout is an append-only list of records; it is the truth. Methods are synchronous: an append is
a single write, and it returns only once a kill of the process cannot lose the record.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NotRequired, Protocol

from typing_extensions import TypedDict

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

RecordType = Literal[
    "session_meta", "turn_context", "response_item", "event_msg", "compacted", "token_usage_record"
]


class RolloutRecord(TypedDict):
    """A line of a rollout: `timestamp` in UTC with milliseconds, `ordinal` counts from 0."""

    timestamp: str
    ordinal: int
    type: str
    payload: dict[str, object]
    metadata: NotRequired[dict[str, object]]


@dataclass(frozen=True, slots=True)
class ThreadSummary:
    """A stored thread in a listing; times in Unix seconds.

    Attributes:
        thread_id: The id.
        path: Where it is stored.
        name: The name a user gave it.
        preview: The beginning of the first user message.
        cwd: Its working directory.
        model: The model last used.
        model_provider: The provider it was started with.
        created_at: When it began.
        updated_at: When it last changed.
        archived: Whether it is archived.
        forked_from: The thread it was forked from.
        parent: The thread that started it as a subagent.
        source: The front end that started it.
        total_tokens: Tokens used so far.
        git_sha: The commit of its repository when it began.
        git_branch: The branch of its repository then.
        git_origin: Where its repository was cloned from.
        agent_nickname: With a subagent: what it is called.
        agent_role: With a subagent: what it is for.
        agent_depth: With a subagent: how many threads are above it.
    """

    thread_id: str
    path: str
    name: str | None
    preview: str
    cwd: str
    model: str | None
    model_provider: str
    created_at: int
    updated_at: int
    archived: bool = False
    forked_from: str | None = None
    parent: str | None = None
    source: str = "exec"
    total_tokens: int = 0
    git_sha: str | None = None
    git_branch: str | None = None
    git_origin: str | None = None
    agent_nickname: str | None = None
    agent_role: str | None = None
    agent_depth: int = 0


@dataclass(frozen=True, slots=True)
class ThreadFilter:
    """Which threads to list; None does not restrict."""

    cwd: str | None = None
    archived: bool = False
    search: str | None = None
    include_subagents: bool = False
    limit: int = 50
    offset: int = 0


class ThreadWriter(Protocol):
    """The only writer of a thread; holds its lock."""

    thread_id: str
    path: str | None

    def append(self, type_: RecordType, payload: dict[str, object]) -> RolloutRecord:
        """Write one record; on return it survives a kill of the process."""
        ...

    def sync(self) -> None:
        """Make everything survive a power failure, too."""
        ...

    def close(self) -> None:
        """Give back the lock."""
        ...


class ThreadStore(Protocol):
    """Keeps threads. Constructed with a `PluginContext`."""

    name: str

    def create(self, thread_id: str, *, created_at: float) -> ThreadWriter:
        """Begin a new thread; nothing is stored before the first append."""
        ...

    def add(
        self,
        thread_id: str,
        records: Iterable[RolloutRecord],
        *,
        created_at: float,
        archived: bool = False,
    ) -> bool:
        """Store a whole thread that was kept elsewhere, with its times: all of it or nothing.

        Args:
            thread_id: Its id.
            records: Read once and in order; the first is its `session_meta`. They are numbered
                anew.
            created_at: When it began, in Unix seconds.
            archived: Put it away at once.

        Returns:
            Whether it was stored: a thread of that id may be there already, and is left as it is
            without a record being read.

        Raises:
            StoreError: It cannot be written.
            ThreadBusyError: Somebody else is storing it.
        """
        ...

    def open(self, thread_id: str) -> ThreadWriter:
        """Continue a thread.

        Raises:
            ThreadNotFoundError: There is none, or it is archived (the message says which).
            ThreadBusyError: Somebody else writes it.
            StoreError: It is damaged beyond use.
        """
        ...

    def read(self, thread_id: str) -> list[RolloutRecord]:
        """Read all records of a thread, damaged lines left out."""
        ...

    def find(self, name_or_id: str) -> ThreadSummary | None:
        """Find a thread by id, else by its exact name, the newest first."""
        ...

    def list(self, filter_: ThreadFilter) -> Sequence[ThreadSummary]:
        """List threads, the last changed first."""
        ...

    def set_name(self, thread_id: str, name: str) -> None:
        """Give a thread a name."""
        ...

    def archive(self, thread_id: str) -> None:
        """Put a thread away."""
        ...

    def unarchive(self, thread_id: str) -> None:
        """Take an archived thread back."""
        ...

    def delete(self, thread_id: str) -> None:
        """Remove a thread for good."""
        ...

    def rebuild(self) -> int:
        """Rebuild everything derived from the rollouts; returns how many threads were found."""
        ...
