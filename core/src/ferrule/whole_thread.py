"""Writes a rollout that was kept elsewhere, under another name first: it is whole or absent.

Used by the store when threads are brought over.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ferrule.rollout import encode_record
from ferrule.thread_files import make_private_dirs
from ferrule_hookspecs.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from ferrule_hookspecs.store import RolloutRecord


def write_thread(path: Path, records: Iterable[RolloutRecord]) -> None:
    """Write records to a new rollout; the caller holds the thread's lock.

    What a killed process leaves is written over by the next try, and taken for no rollout before.

    Raises:
        StoreError: It cannot be written, or the first record is no `session_meta`.
    """
    part = path.with_name(f".{path.name}.part")
    try:
        make_private_dirs(path.parent)
        try:
            _write(part, records)
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(f"cannot write rollout {path}: {error.strerror}") from error


def _write(part: Path, records: Iterable[RolloutRecord]) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
    with open(os.open(part, flags, 0o600), "wb") as file:
        ordinal = -1
        for ordinal, record in enumerate(records):
            if not ordinal and record["type"] != "session_meta":
                raise StoreError(f"the first record must be session_meta, not {record['type']}")
            file.write(encode_record({**record, "ordinal": ordinal}))
        if ordinal < 0:
            raise StoreError("a thread needs at least its session_meta")
        file.flush()
        os.fsync(file.fileno())
