"""Fingerprints of files and folders by time and size: cheap enough to compare at every start."""

from __future__ import annotations

import os
import zlib
from typing import TYPE_CHECKING

from ferrule_hookspecs.manifest import MANIFEST_NAME

if TYPE_CHECKING:
    from collections.abc import Iterator


def file_stamp(path: str) -> str:
    """Fingerprint a file or folder; empty when it is not there."""
    try:
        status = os.stat(path)
    except OSError:
        return ""
    return f"{status.st_mtime_ns}-{status.st_size}"


def tree_stamp(root: str) -> str:
    """Fingerprint all Python files and manifests under a folder."""
    checksum = 0
    for line in _source_files(root):
        checksum = zlib.crc32(line.encode("utf-8", "surrogateescape"), checksum)
    return f"{checksum:08x}"


def _source_files(folder: str) -> Iterator[str]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            if not entry.name.startswith((".", "__")):
                yield from _source_files(entry.path)
        elif entry.name.endswith(".py") or entry.name == MANIFEST_NAME:
            try:
                status = entry.stat()
            except OSError:  # an editor's lock, which is a link to nothing, or gone by now
                continue
            yield f"{entry.path}:{status.st_mtime_ns}:{status.st_size}"
