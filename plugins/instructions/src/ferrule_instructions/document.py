"""One file of instructions, read with care: it may be anything, and it may lie anywhere.

Nothing here waits: pipes and devices are opened without blocking and refused.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final, NamedTuple

from ferrule_hookspecs.errors import FerruleError

_CAREFULLY: Final = (
    os.O_RDONLY
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)


class DocumentError(FerruleError):
    """A file of instructions cannot be read, or must not be."""


class Document(NamedTuple):
    """A file of instructions, as much of it as was asked for.

    Attributes:
        path: Where it is.
        text: What the model reads of it.
        size: Bytes of the whole file.
        kept: Bytes of it that are in `text`.
        is_own: Whether it is the user's own rather than the project's.
        is_damaged: Whether it holds bytes that are no UTF-8; they were replaced.
    """

    path: str
    text: str
    size: int
    kept: int
    is_own: bool = False
    is_damaged: bool = False


def read_document(path: Path, limit: int, *, inside: Path | None = None) -> Document:
    """Read the beginning of a file.

    Args:
        path: The file.
        limit: How many bytes at most.
        inside: The folder that it must not leave by symbolic links; None for any place.

    Raises:
        DocumentError: It leads out of the folder, is no file, or cannot be read.
    """
    real = Path(os.path.realpath(path))  # Path.resolve raises where links lead in a circle
    if inside is not None and not real.is_relative_to(os.path.realpath(inside)):
        raise DocumentError(
            f"{path} is not read: it is a link that leads out of {inside}, to {real}"
        )
    try:
        descriptor = os.open(real, _CAREFULLY)
    except OSError as error:
        raise DocumentError(f"{path} cannot be read: {error.strerror}") from None
    with open(descriptor, "rb") as file:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode):
            raise DocumentError(f"{path} is not read: it is no regular file")
        try:
            data = file.read(limit + 1)
        except OSError as error:
            raise DocumentError(f"{path} cannot be read: {error.strerror}") from None
    kept = data[:limit]
    text, is_damaged = _decoded(kept, is_cut=len(data) > limit)
    size = max(facts.st_size, len(data))
    return Document(str(path), text, size, len(kept), inside is None, is_damaged)


def _decoded(data: bytes, *, is_cut: bool) -> tuple[str, bool]:
    """Decode; a character that was cut in two at the end is left out rather than damaged."""
    from codecs import getincrementaldecoder

    try:
        return getincrementaldecoder("utf-8-sig")().decode(data, final=not is_cut), False
    except UnicodeDecodeError:
        return data.decode("utf-8-sig", errors="replace"), True
