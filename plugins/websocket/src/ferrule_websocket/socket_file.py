"""The file of a unix socket: private, never taken from a server that lives, freed when it is dead.

Whoever serves holds a lock on a file beside the socket. The lock goes with the process, however it
ends, so that a socket without a locked lock file is what a dead server left.
"""

from __future__ import annotations

import os
import socket
import stat
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ferrule_hookspecs.errors import FerruleError

if TYPE_CHECKING:
    from collections.abc import Iterator

_BACKLOG: Final = 256
_LONGEST_PATH: Final = 103  # macOS allows 104 with the end mark, Linux 108


class SocketFileError(FerruleError):
    """A unix socket cannot be made where it is wanted."""


@contextmanager
def claimed(path: Path) -> Iterator[socket.socket]:
    """Listen on a unix socket that only the user can connect to; remove it at the end.

    Raises:
        SocketFileError: A server lives there, others could replace it, or the system refuses.
    """
    if not hasattr(socket, "AF_UNIX") or os.name != "posix":
        raise SocketFileError("this system has no unix sockets; listen at ws://127.0.0.1:0")
    if len(os.fsencode(path)) > _LONGEST_PATH:
        raise SocketFileError(
            f"{path} is too long for a unix socket: take a path of at most {_LONGEST_PATH} bytes"
        )
    try:
        _prepare_folder(path.parent)
        lock, lock_path = _lock(path), _lock_path(path)
    except OSError as error:
        raise SocketFileError(f"cannot listen at {path}: {error.strerror}") from error
    try:
        _remove_stale(path)
        with _bound(path) as listener:
            yield listener
    finally:
        lock_path.unlink(missing_ok=True)
        os.close(lock)


def _prepare_folder(folder: Path) -> None:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = folder.stat()
    others_write = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    if status.st_uid not in (os.geteuid(), 0) or (
        others_write and not status.st_mode & stat.S_ISVTX
    ):
        raise SocketFileError(
            f"others could replace a socket in {folder}: take a folder that only you can write, "
            f"or run `chmod go-w {folder}`"
        )


def _lock_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.lock")


def _lock(path: Path) -> int:
    """Take the lock of a socket; returns the descriptor that holds it."""
    import fcntl

    lock_path = _lock_path(path)
    while True:
        lock = os.open(lock_path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(lock), os.stat(lock_path)):
                return lock
        except BlockingIOError:
            os.close(lock)
            raise _taken(path) from None
        except FileNotFoundError:
            pass
        # Its last owner removed the file between our opening and locking it: that lock is nobody's.
        os.close(lock)


def _remove_stale(path: Path) -> None:
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise SocketFileError(f"cannot listen at {path}: a file is there that is no socket")
    if _answers(path):
        raise _taken(path)
    path.unlink()


def _answers(path: Path) -> bool:
    """Tell whether somebody listens: a server that knows nothing of our locks may."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1)
        try:
            probe.connect(os.fspath(path))
        except (ConnectionRefusedError, FileNotFoundError):
            return False
        except OSError:
            return True
    return True


@contextmanager
def _bound(path: Path) -> Iterator[socket.socket]:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with suppress(OSError):  # where this works, the file never has another mode
            os.fchmod(listener.fileno(), 0o600)
        listener.bind(os.fspath(path))
        path.chmod(0o600)
        made = path.lstat()
        listener.listen(_BACKLOG)
        listener.setblocking(False)
    except OSError as error:
        listener.close()
        raise SocketFileError(f"cannot listen at {path}: {error.strerror}") from error
    try:
        with listener:
            yield listener
    finally:
        with suppress(FileNotFoundError):
            if os.path.samestat(path.lstat(), made):
                path.unlink()


def _taken(path: Path) -> SocketFileError:
    return SocketFileError(f"a server already listens at {path}: stop it, or take another path")
