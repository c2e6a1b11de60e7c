"""The single-writer lock of a thread: an advisory lock the operating system gives back on death.

The file holds the writer's process id for the message a second writer gets. It is removed on
close; `sweep` removes those that killed processes left.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from pathlib import Path

from ferrule.thread_files import make_private_dirs
from ferrule_hookspecs.errors import StoreError, ThreadBusyError

_ATTEMPTS = 20
_PAUSE_S = 0.005


class ThreadLock:
    """A held lock."""

    def __init__(self, path: str, fd: int) -> None:
        self._path = path
        self._fd = fd

    @classmethod
    def acquire(cls, folder: Path, thread_id: str) -> ThreadLock:
        """Take the lock of a thread.

        Raises:
            ThreadBusyError: A living process holds it.
            StoreError: The lock file cannot be made.
        """
        path = str(folder / f"{thread_id}.lock")
        try:
            make_private_dirs(folder)
            for _ in range(_ATTEMPTS):
                fd = _try_lock(path)
                if fd is not None:
                    os.ftruncate(fd, 0)
                    os.pwrite(fd, str(os.getpid()).encode(), 0)
                    return cls(path, fd)
                if _holder_is_alive(path):
                    break
                time.sleep(_PAUSE_S)  # a sweep holds it, or its owner is about to write its id
        except OSError as error:
            raise StoreError(f"cannot lock thread {thread_id} with {path}: {error}") from error
        holder = _holder(path)
        raise ThreadBusyError(
            f"thread {thread_id} already has an active writer (pid {holder or 'unknown'}); "
            "end that session first, or fork the thread"
        )

    def release(self) -> None:
        """Give the lock back; its file goes while the lock is still held."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._path)
        os.close(self._fd)


def sweep(folder: Path) -> int:
    """Remove lock files nobody holds; returns how many."""
    removed = 0
    for path in folder.glob("*.lock"):
        with contextlib.suppress(OSError):
            fd = _try_lock(str(path), create=False)
            if fd is not None:
                ThreadLock(str(path), fd).release()
                removed += 1
    return removed


def _try_lock(path: str, *, create: bool = True) -> int | None:
    """Open and lock the file that bears the name now; None when somebody else holds it."""
    flags = os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT if create else 0)
    while True:
        fd = os.open(path, flags, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(fd).st_ino == _inode(path):
                return fd
        except BlockingIOError:
            os.close(fd)
            return None
        except BaseException:
            os.close(fd)
            raise
        os.close(fd)  # its last owner removed the file between our open and our lock


def _inode(path: str) -> int | None:
    try:
        return os.stat(path).st_ino
    except FileNotFoundError:
        return None


def _holder(path: str) -> int | None:
    try:
        return int(Path(path).read_bytes())
    except (FileNotFoundError, ValueError):
        return None


def _holder_is_alive(path: str) -> bool:
    pid = _holder(path)
    if pid is None:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
