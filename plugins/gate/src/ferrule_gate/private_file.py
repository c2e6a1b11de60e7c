"""Reads secrets from files that nobody but the user can read."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

from ferrule_hookspecs.errors import FerruleError

_LIMIT: Final = 64 * 1024
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


class PrivateFileError(FerruleError):
    """A file with a secret is missing, or others can read it."""


def read_private(path: Path, what: str) -> bytes:
    """Read a secret, without the white space around it.

    Args:
        path: The file. What is checked is what is read: links are followed first.
        what: What the secret is, for messages.

    Raises:
        PrivateFileError: It cannot be read, is empty, or is not private.
    """
    try:
        with path.open("rb") as file:
            _check_private(path, os.fstat(file.fileno()), what)
            content = file.read(_LIMIT + 1)
    except OSError as error:
        raise PrivateFileError(f"cannot read {what} in {path}: {error.strerror}") from error
    if len(content) > _LIMIT or not content.strip():
        raise PrivateFileError(f"{path} is empty or far too long to be {what}")
    return content.strip()


def _check_private(path: Path, status: os.stat_result, what: str) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise PrivateFileError(f"cannot read {what} in {path}: it is not a file")
    if os.name != "posix":
        return
    if status.st_uid not in (os.geteuid(), 0):
        raise PrivateFileError(f"{path} belongs to somebody else; {what} must be in your own file")
    if status.st_mode & _OTHERS:
        raise PrivateFileError(f"others can read {what} in {path}; run `chmod 600 {path}`")
