"""Files in Ferrule's home that several processes write: replaced in one step, one writer at a time.

What decides about safety or holds what the user asked for is written with it.
"""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping


def home_of(environ: Mapping[str, str]) -> Path:
    """Return `$FERRULE_HOME`, or the folder used without it; nothing is created."""
    named = environ.get("FERRULE_HOME")
    return Path(named) if named else Path(environ.get("HOME") or Path.home(), ".ferrule")


def replace_text(file: Path, text: str) -> None:
    """Write beside the file and move over it, so that a reader sees the old or the new one.

    Nobody else may read it.

    Raises:
        OSError: It cannot be written; the old one is as it was.
    """
    import tempfile  # it takes longer than the start of a command may cost

    descriptor, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        Path(name).replace(file)
    except BaseException:
        with suppress(FileNotFoundError):
            Path(name).unlink()
        raise


@contextmanager
def locked(file: Path) -> Generator[None]:
    """Hold the writer's lock of a file, making its folder; it ends with the process at the latest.

    Raises:
        OSError: The folder cannot be written.
    """
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(file.with_name(f".{file.name}.lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_LOCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
