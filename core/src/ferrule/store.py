"""The thread store of the kernel: JSON-lines rollouts under `$FERRULE_HOME`.

Starting, resuming and reading a thread touch only its rollout and its lock; listings and names go
through the index, which is derived. Named by the entry point `jsonl` of `ferrule.stores`.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from ferrule.borrowed_history import with_borrowed
from ferrule.rollout import Rollout, RolloutWriter, read_rollout
from ferrule.thread_files import RolloutFile, ThreadFiles, is_thread_id, make_private_dirs
from ferrule.thread_lock import ThreadLock, sweep
from ferrule_hookspecs.errors import StoreError, ThreadNotFoundError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ferrule.thread_index import ThreadIndex
    from ferrule_hookspecs.plugins import PluginContext
    from ferrule_hookspecs.store import RolloutRecord, ThreadFilter, ThreadSummary, ThreadWriter


class JsonlStore:
    """Keeps one JSON-lines file per thread. Satisfies `ferrule_hookspecs.store.ThreadStore`."""

    name = "jsonl"

    def __init__(self, context: PluginContext) -> None:
        self._files = ThreadFiles(context.home)
        self._locks = context.home / "locks"

    def create(self, thread_id: str, *, created_at: float) -> ThreadWriter:
        """Begin a new thread; its file is made by the first append."""
        _require_id(thread_id)
        lock = ThreadLock.acquire(self._locks, thread_id)
        return RolloutWriter(thread_id, self._files.new_path(thread_id, created_at), lock)

    def add(
        self,
        thread_id: str,
        records: Iterable[RolloutRecord],
        *,
        created_at: float,
        archived: bool = False,
    ) -> bool:
        """Store a whole thread that was kept elsewhere: all of it or nothing."""
        from ferrule.whole_thread import write_thread  # not needed where a thread only runs

        _require_id(thread_id)
        path = self._files.new_path(thread_id, created_at)
        lock = ThreadLock.acquire(self._locks, thread_id)
        try:
            if self._files.locate(thread_id) is not None:
                return False
            write_thread(self._files.archive / path.name if archived else path, records)
            return True
        finally:
            lock.release()

    def open(self, thread_id: str) -> ThreadWriter:
        """Continue a thread, its torn end mended."""
        return self._resume(thread_id)

    def read(self, thread_id: str) -> list[RolloutRecord]:
        """Read all records of a thread, damaged lines left out."""
        return self.inspect(thread_id).records

    def inspect(self, thread_id: str) -> Rollout:
        """Read all records of a thread and tell which lines are damaged."""
        return with_borrowed(read_rollout(self._locate(thread_id).path), self._read_if_stored)

    def find(self, name_or_id: str) -> ThreadSummary | None:
        """Find a thread by id, else by its exact name, the newest first."""
        file = self._files.locate(name_or_id)
        if file is None:
            return self._index().named(name_or_id)
        from ferrule.thread_summary import summarize  # not needed where a thread only runs

        return summarize(file)

    def list(self, filter_: ThreadFilter) -> Sequence[ThreadSummary]:
        """List threads, the last changed first; locks of killed processes go by the way."""
        sweep(self._locks)
        return self._index().list(filter_)

    def set_name(self, thread_id: str, name: str) -> None:
        """Give a thread a name.

        Raises:
            ThreadBusyError: A session has the thread open; it appends the record itself.
        """
        if not name.strip():
            raise StoreError(f"thread {thread_id} needs a name that is not blank")
        writer = self._resume(thread_id, even_archived=True)
        try:
            writer.append("event_msg", {"type": "thread_name", "name": name})
        finally:
            writer.close()

    def archive(self, thread_id: str) -> None:
        """Put a thread away."""
        self._move(thread_id, archived=True)

    def unarchive(self, thread_id: str) -> None:
        """Take an archived thread back."""
        self._move(thread_id, archived=False)

    def delete(self, thread_id: str) -> None:
        """Remove a thread for good."""
        lock, file = self._hold(thread_id)
        try:
            os.unlink(file.path)
        except OSError as error:
            raise StoreError(f"cannot delete {file.path}: {error.strerror}") from error
        finally:
            lock.release()

    def rebuild(self) -> int:
        """Build the index anew and remove locks of killed processes."""
        sweep(self._locks)
        return self._index().rebuild()

    def _read_if_stored(self, thread_id: str) -> Rollout | None:
        file = self._files.locate(thread_id)
        return None if file is None else read_rollout(file.path)

    def _locate(self, thread_id: str) -> RolloutFile:
        file = self._files.locate(thread_id)
        if file is None:
            raise self._unknown(thread_id)
        return file

    def _unknown(self, thread_id: str) -> ThreadNotFoundError:
        return ThreadNotFoundError(
            f"no thread with id {thread_id} is stored in {self._files.sessions}; "
            "`ferrule threads list --all` shows those that are"
        )

    def _resume(self, thread_id: str, *, even_archived: bool = False) -> RolloutWriter:
        lock, file = self._hold(thread_id)
        try:
            if not even_archived:
                _require_active(file)
            return RolloutWriter.resume(thread_id, Path(file.path), lock)
        except BaseException:
            lock.release()
            raise

    def _hold(self, thread_id: str) -> tuple[ThreadLock, RolloutFile]:
        """Lock a thread, then find it: only who holds the lock moves its file."""
        if not is_thread_id(thread_id):
            raise self._unknown(thread_id)
        lock = ThreadLock.acquire(self._locks, thread_id)
        try:
            return lock, self._locate(thread_id)
        except BaseException:
            lock.release()
            raise

    def _move(self, thread_id: str, *, archived: bool) -> None:
        lock, file = self._hold(thread_id)
        source = Path(file.path)
        files = self._files
        target = files.archive / source.name if archived else files.active_path(source)
        try:
            if file.archived == archived:
                raise StoreError(
                    f"thread {thread_id} is {'already' if archived else 'not'} archived"
                )
            if target.exists():
                raise StoreError(f"cannot move {source}: {target} exists")
            make_private_dirs(target.parent)
            os.rename(source, target)
        except OSError as error:
            raise StoreError(f"cannot move {source} to {target}: {error.strerror}") from error
        finally:
            lock.release()

    def _index(self) -> ThreadIndex:
        from ferrule.thread_index import ThreadIndex  # SQLite is slow to import

        return ThreadIndex(self._files)


def _require_id(thread_id: str) -> None:
    if not is_thread_id(thread_id):
        raise StoreError(f"{thread_id!r} cannot name a thread; use letters, digits and -")


def _require_active(file: RolloutFile) -> None:
    if file.archived:
        raise ThreadNotFoundError(
            f"thread {file.thread_id} is archived; take it back with "
            f"`ferrule threads unarchive {file.thread_id}`"
        )
