"""The index of threads: a SQLite file derived from the rollouts, for listings and names.

Nothing writes the index but reading it: before each query the rollouts on disk are compared with
the rows by size and time of change, and only what differs is read again. A thread therefore costs
the index nothing while it runs (importing SQLite alone takes 5 ms), and an index that is missing,
old, damaged or behind heals by being used. When it cannot be used at all, the same tables are built
in memory. Used by the store.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from dataclasses import astuple, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from ferrule.thread_files import RolloutFile, ThreadFiles, make_private_dirs
from ferrule.thread_summary import summarize
from ferrule_hookspecs.errors import StoreError
from ferrule_hookspecs.store import ThreadFilter, ThreadSummary

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Generator, Iterator

T = TypeVar("T")

_VERSION = 3
_BUSY_S = 10.0
_PAUSE_S = 0.02
_COLUMNS = tuple(field.name for field in fields(ThreadSummary))
_SCHEMA = f"""
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS threads (
    {", ".join(name + (" TEXT PRIMARY KEY" if name == "path" else "") for name in _COLUMNS)},
    size INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL,
    words TEXT NOT NULL
) WITHOUT ROWID;
PRAGMA user_version = {_VERSION};
COMMIT;
"""
_INSERT = (
    f"INSERT OR REPLACE INTO threads ({', '.join(_COLUMNS)}, size, mtime_ns, words) "  # noqa: S608 -- names of our own columns
    f"VALUES ({', '.join('?' * (len(_COLUMNS) + 3))})"
)
_SELECT = f"SELECT {', '.join(_COLUMNS)} FROM threads WHERE thread_id IS NOT NULL"  # noqa: S608 -- names of our own columns
_NEWEST_FIRST = "updated_at DESC, mtime_ns DESC, thread_id DESC"


class ThreadIndex:
    """Answers questions about all threads of a home."""

    def __init__(self, files: ThreadFiles) -> None:
        self._files = files
        self._path = files.home / "index.sqlite"
        self._lock_path = files.home / "index.sqlite.lock"

    def named(self, name: str) -> ThreadSummary | None:
        """Find a thread by its exact name: active ones before archived ones, then the newest."""
        sql = f"{_SELECT} AND name = ? ORDER BY archived, {_NEWEST_FIRST} LIMIT 1"
        rows = self._query(lambda connection: _summaries(connection, sql, (name,)))
        return rows[0] if rows else None

    def list(self, filter_: ThreadFilter) -> list[ThreadSummary]:
        """List threads, the last changed first."""
        sql = f"{_SELECT} AND archived = ?"
        parameters: list[object] = [filter_.archived]
        if filter_.cwd is not None:
            sql += " AND cwd = ?"
            parameters.append(filter_.cwd)
        if filter_.search:
            sql += " AND instr(words, ?) > 0"
            parameters.append(filter_.search.casefold())
        if not filter_.include_subagents:
            sql += " AND parent IS NULL"
        sql += f" ORDER BY {_NEWEST_FIRST} LIMIT ? OFFSET ?"
        parameters += [filter_.limit, filter_.offset]
        return self._query(lambda connection: _summaries(connection, sql, tuple(parameters)))

    def rebuild(self) -> int:
        """Forget all rows and read every rollout again; returns how many threads there are."""
        with contextlib.suppress(OSError, TimeoutError):
            self._discard()
        sql = "SELECT count(*) FROM threads WHERE thread_id IS NOT NULL"
        return self._query(lambda connection: int(connection.execute(sql).fetchone()[0]))

    def _query(self, ask: Callable[[sqlite3.Connection], T]) -> T:
        """Ask the index; when it is damaged, a new one; when there can be none, one in memory."""
        import sqlite3

        for attempt in range(2):
            try:
                with _flock(self._lock_path, fcntl.LOCK_SH), self._open() as connection:
                    return self._ask(connection, ask)
            except (sqlite3.Error, OSError) as error:
                if attempt or not _is_damage(error):
                    break
            with contextlib.suppress(OSError):
                self._discard()
        with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
            connection.executescript(_SCHEMA)
            return self._ask(connection, ask)

    def _ask(self, connection: sqlite3.Connection, ask: Callable[[sqlite3.Connection], T]) -> T:
        _refresh(connection, self._files.scan())
        return ask(connection)

    @contextlib.contextmanager
    def _open(self) -> Generator[sqlite3.Connection]:
        import sqlite3

        os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        connection = sqlite3.connect(self._path, timeout=_BUSY_S, isolation_level=None)
        try:
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            if version != _VERSION:
                if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                    raise sqlite3.DatabaseError(f"index of version {version}")
                connection.execute("PRAGMA journal_mode = WAL")
                connection.executescript(_SCHEMA)
            connection.execute("PRAGMA synchronous = NORMAL")
            yield connection
        finally:
            connection.close()

    def _discard(self) -> None:
        """Delete the index while nobody uses it, so that no old log meets a new file."""
        with _flock(self._lock_path, fcntl.LOCK_EX):
            for suffix in ("", "-wal", "-shm", "-journal"):
                Path(f"{self._path}{suffix}").unlink(missing_ok=True)


def _is_damage(error: Exception) -> bool:
    """Whether a new index would help: not when another process is only slow."""
    import sqlite3

    busy = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
    code = getattr(error, "sqlite_errorcode", None)
    return isinstance(error, sqlite3.Error) and (code is None or code & 0xFF not in busy)


@contextlib.contextmanager
def _flock(path: Path, mode: int) -> Generator[None]:
    """Hold the lock that keeps users of the index and its removal apart."""
    make_private_dirs(path.parent)
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        deadline = time.monotonic() + _BUSY_S
        while True:
            try:
                fcntl.flock(fd, mode | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise TimeoutError(f"{path} is held by another process") from None
                time.sleep(_PAUSE_S)
        yield
    finally:
        os.close(fd)


def _refresh(connection: sqlite3.Connection, on_disk: Iterator[RolloutFile]) -> None:
    """Make the rows agree with the rollouts, reading only those that changed."""
    known = {
        path: (size, mtime_ns)
        for path, size, mtime_ns in connection.execute("SELECT path, size, mtime_ns FROM threads")
    }
    changed = [
        _row(file) for file in on_disk if known.pop(file.path, None) != (file.size, file.mtime_ns)
    ]
    if not changed and not known:
        return
    connection.execute("BEGIN IMMEDIATE")
    connection.executemany("DELETE FROM threads WHERE path = ?", [(path,) for path in known])
    connection.executemany(_INSERT, changed)
    connection.execute("COMMIT")


def _row(file: RolloutFile) -> tuple[object, ...]:
    """Return the row of a rollout; one that holds no thread gets a row without an id."""
    try:
        summary = summarize(file)
    except StoreError:
        blank = (file.path if name == "path" else None for name in _COLUMNS)
        return (*blank, file.size, file.mtime_ns, "")
    words = f"{summary.name or ''}\n{summary.preview}".casefold()
    return (*astuple(summary), file.size, file.mtime_ns, words)


def _summaries(
    connection: sqlite3.Connection, sql: str, parameters: tuple[object, ...]
) -> list[ThreadSummary]:
    rows = (ThreadSummary(*row) for row in connection.execute(sql, parameters))
    return [replace(row, archived=bool(row.archived)) for row in rows]  # SQLite knows no booleans
