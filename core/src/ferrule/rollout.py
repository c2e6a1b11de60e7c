"""One rollout file: reading it, mending its end, and appending to it.

A rollout is JSON lines. Every append is one write of a whole line, so that a killed process leaves
whole lines behind; what a power failure or another program left is read around. Used by the store.
"""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING, NamedTuple, cast

from ferrule.thread_files import make_private_dirs
from ferrule_hookspecs.errors import StoreError

if TYPE_CHECKING:
    from pathlib import Path

    from ferrule.thread_lock import ThreadLock
    from ferrule_hookspecs.store import RecordType, RolloutRecord


class Rollout(NamedTuple):
    """What a file holds.

    Attributes:
        records: Its records in order.
        damaged: Numbers, from 1, of lines that are no records.
    """

    records: list[RolloutRecord]
    damaged: tuple[int, ...]


def timestamp() -> str:
    """Return the time as records bear it: UTC with milliseconds."""
    seconds, rest_ns = divmod(time.time_ns(), 1_000_000_000)
    stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
    return f"{stamp}.{rest_ns // 1_000_000:03d}Z"


def parse_record(line: bytes) -> RolloutRecord | None:
    """Return the record in a line, or None when it holds none."""
    try:
        value: object = json.loads(line.decode())
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    record = cast("dict[str, object]", value)
    if not isinstance(record.get("type"), str) or not isinstance(record.get("payload"), dict):
        return None
    return cast("RolloutRecord", record)


def parse_rollout(data: bytes, path: str) -> Rollout:
    """Read the records of a file.

    Raises:
        StoreError: It is empty or does not start with session metadata.
    """
    if not data.strip(b"\0\n"):
        raise StoreError(f"rollout {path} is empty; delete the file")
    records: list[RolloutRecord] = []
    damaged: list[int] = []
    for number, line in enumerate(data.split(b"\n"), start=1):
        record = parse_record(line) or parse_record(line.strip(b"\0"))
        if record is None:
            if line:
                damaged.append(number)
            continue
        if not records and record["type"] != "session_meta":
            break
        record.setdefault("ordinal", number - 1)
        record.setdefault("timestamp", "")
        records.append(record)
    if not records:
        raise StoreError(
            f"rollout {path} does not start with session metadata; "
            "restore its first line or delete the file"
        )
    return Rollout(records, tuple(damaged))


def read_rollout(path: str) -> Rollout:
    """Read a file; raises `StoreError` when it cannot be used."""
    return parse_rollout(_read(path), path)


class RolloutWriter:
    """The only writer of a rollout file. Satisfies `ferrule_hookspecs.store.ThreadWriter`."""

    def __init__(self, thread_id: str, path: Path, lock: ThreadLock) -> None:
        self.thread_id = thread_id
        self.path: str | None = str(path)
        self._path = path
        self._lock: ThreadLock | None = lock
        self._fd: int | None = None
        self._ordinal = 0

    @classmethod
    def resume(cls, thread_id: str, path: Path, lock: ThreadLock) -> RolloutWriter:
        """Continue a file, its torn end mended.

        Raises:
            StoreError: It cannot be read, or holds no thread.
        """
        writer = cls(thread_id, path, lock)
        data = _read(str(path))
        _check_head(data, str(path))
        try:
            fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        except OSError as error:
            raise StoreError(f"cannot write rollout {path}: {error.strerror}") from error
        writer._fd = fd
        try:
            _mend_end(fd, data)
        except OSError as error:
            os.close(fd)
            raise StoreError(f"cannot mend rollout {path}: {error.strerror}") from error
        writer._ordinal = _next_ordinal(data)
        return writer

    def append(self, type_: RecordType, payload: dict[str, object]) -> RolloutRecord:
        """Write one record; the first of a new thread is its `session_meta`.

        Raises:
            StoreError: It could not be written, wholly; the file is as it was before.
        """
        if self._lock is None:
            raise StoreError(f"thread {self.thread_id} is closed; open it again to write to it")
        record: RolloutRecord = {
            "timestamp": timestamp(),
            "ordinal": self._ordinal,
            "type": type_,
            "payload": payload,
        }
        line = encode_record(record)
        if self._fd is None:
            self._fd = self._create(type_)
        self._write(self._fd, line)
        self._ordinal += 1
        return record

    def sync(self) -> None:
        """Make everything survive a power failure, too."""
        if self._fd is not None:
            try:
                getattr(os, "fdatasync", os.fsync)(self._fd)
            except OSError as error:
                raise StoreError(f"cannot sync rollout {self._path}: {error.strerror}") from error

    def close(self) -> None:
        """Give back the lock; closing twice does nothing."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def _create(self, type_: RecordType) -> int:
        if type_ != "session_meta":
            raise StoreError(
                f"the first record of thread {self.thread_id} must be session_meta, not {type_}"
            )
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        try:
            make_private_dirs(self._path.parent)
            return os.open(self._path, flags, 0o600)
        except OSError as error:
            raise StoreError(f"cannot create rollout {self._path}: {error.strerror}") from error

    def _write(self, fd: int, line: bytes) -> None:
        start = os.fstat(fd).st_size
        try:
            rest = memoryview(line)
            while rest:
                rest = rest[os.write(fd, rest) :]
        except OSError as error:
            os.ftruncate(fd, start)  # a torn line must not glue itself to the next one
            raise StoreError(
                f"cannot write rollout {self._path}: {error.strerror}; "
                "mend that and resume the thread"
            ) from error


def encode_record(record: RolloutRecord) -> bytes:
    """Return the line that holds a record."""
    text = json.dumps(record, ensure_ascii=False, separators=(",", ":"))
    try:
        return text.encode() + b"\n"
    except UnicodeEncodeError:  # lone surrogates, from undecodable output of a command
        return json.dumps(record, separators=(",", ":")).encode() + b"\n"


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise StoreError(f"cannot read rollout {path}: {error.strerror}") from error


def _check_head(data: bytes, path: str) -> None:
    """Raise unless the file begins with session metadata; the rest is not looked at."""
    head = data.find(b"\n")
    record = parse_record(data[:head] if head >= 0 else data)
    if record is None or record["type"] != "session_meta":
        parse_rollout(data, path)


def _mend_end(fd: int, data: bytes) -> None:
    """Make the file end with a whole line.

    A last line without its end is kept when it is a whole record. Else it was never acknowledged,
    because an append is acknowledged after its newline is written: it is cut off.
    """
    end = data.rfind(b"\n") + 1
    if end == len(data):
        return
    tail = data[end:].rstrip(b"\0")
    if parse_record(tail) is None:
        os.ftruncate(fd, end)
        return
    os.ftruncate(fd, end + len(tail))
    os.write(fd, b"\n")


def _next_ordinal(data: bytes) -> int:
    for line in reversed(data.split(b"\n")):
        record = parse_record(line.rstrip(b"\0"))
        ordinal: object = record.get("ordinal") if record else None
        if isinstance(ordinal, int):
            return ordinal + 1
    return data.count(b"\n")
