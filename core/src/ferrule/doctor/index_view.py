"""Reads the index of threads without touching it.

SQLite makes files beside a database that it only reads, so a copy is read instead.
"""

from __future__ import annotations

import shutil
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ferrule.thread_files import ThreadFiles


class IndexView(NamedTuple):
    """What the index holds.

    Attributes:
        rows: Size and time of change by path; None where there is no index.
        fault: Why it cannot be read; empty when it can.
    """

    rows: Mapping[str, tuple[int, int]] | None = None
    fault: str = ""


def view_index(files: ThreadFiles) -> IndexView:
    """Read the index of a home."""
    path = files.home / "index.sqlite"
    if not path.exists():
        return IndexView()
    with TemporaryDirectory(prefix="ferrule-doctor-") as folder:
        try:
            for suffix in ("", "-wal"):
                source = Path(f"{path}{suffix}")
                if source.exists():
                    shutil.copyfile(source, Path(folder, f"index.sqlite{suffix}"))
        except OSError as error:
            return IndexView(fault=f"{path}: {error.strerror}")
        return _read(Path(folder, "index.sqlite"), path)


def _read(copy: Path, path: Path) -> IndexView:
    import sqlite3

    try:
        with closing(sqlite3.connect(copy)) as connection:
            found = connection.execute("SELECT path, size, mtime_ns FROM threads").fetchall()
    except sqlite3.Error as error:
        return IndexView(fault=f"{path}: {error}")
    return IndexView({path: (size, mtime_ns) for path, size, mtime_ns in found})
