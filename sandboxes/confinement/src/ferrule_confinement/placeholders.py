"""Stand-ins for protected names that do not exist, and links that must stay as they are.

A mount needs something to be mounted on, so a missing `.git` or `.ferrule` is stood in for by an
empty folder on the host while a command runs. Every run that needs a stand-in holds a shared lock
on it; whoever can turn that into an exclusive one is the last and removes it. A stand-in is told
from a folder of the user's by its time stamp, which changes as soon as anything is put into it.
Until it bears the stamp it is told by its sticky bit, which it is made with: there is no moment at
which nobody could tell. What a killed process leaves the watchdog removes, or the next run.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from ferrule_confinement.late_close import close_later
from ferrule_hookspecs.errors import SandboxUnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# 2001-09-09 01:46:40.123456789 UTC: a moment no tool sets by accident, nanoseconds included.
_STAMP: Final = 1_000_000_000_123_456_789
_MARK: Final = stat.S_ISVTX
_FILE_NAMES: Final = frozenset({"config", "config.worktree", "commondir"})
_ATTEMPTS: Final = 200
_BEING_MADE_NS: Final = 50_000_000
_PAUSE_SECONDS: Final = 0.001


class Placeholder(NamedTuple):
    """A stand-in this run holds: its path and the locked descriptor."""

    path: str
    descriptor: int


@dataclass(slots=True)
class Guard:
    """What one run put in place and must look after."""

    placeholders: list[Placeholder] = field(default_factory=list[Placeholder])
    links: dict[str, str] = field(default_factory=dict[str, str])

    def release(self) -> list[str]:
        """Take everything away again; returns what was tampered with meanwhile."""
        tampered = [path for path, target in self.links.items() if _restore_link(path, target)]
        tampered += [held.path for held in self.placeholders if _release(held)]
        self.placeholders.clear()
        self.links.clear()
        return tampered


def is_file_name(path: str) -> bool:
    """Whether a missing name is stood in for by a file."""
    return os.path.basename(path) in _FILE_NAMES


def place(paths: Sequence[str]) -> tuple[Guard, list[str]]:
    """Put stand-ins where names are missing.

    Returns:
        The guard, and the paths that exist now and must be mounted read-only. What cannot be
        created here cannot be created by a command either, and is left out.

    Raises:
        SandboxUnavailableError: A name keeps appearing and disappearing.
    """
    guard = Guard()
    try:
        return guard, [path for path in paths if _place(path, guard)]
    except BaseException:
        guard.release()
        raise


def _place(path: str, guard: Guard) -> bool:
    for _ in range(_ATTEMPTS):
        if not _is_made(path):
            return False
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            continue  # its last owner has just removed it
        except OSError:
            return True  # the user's own, and not ours to lock
        if _is_being_made(os.fstat(descriptor)):
            os.close(descriptor)
            time.sleep(_PAUSE_SECONDS)
            continue
        if _is_begun(path, descriptor):
            _take_away(path, descriptor)
            continue
        if not _is_stand_in(os.fstat(descriptor)):
            os.close(descriptor)
            return True
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        if _is_at(path, descriptor):
            guard.placeholders.append(Placeholder(path, descriptor))
            return True
        os.close(descriptor)
    raise SandboxUnavailableError(f"{path} cannot be protected: it keeps changing; try again")


def _is_made(path: str) -> bool:
    """Make a stand-in unless something is there; False where nothing can be."""
    try:
        _create(path)
    except FileExistsError:
        pass
    except OSError as error:
        if error.errno == errno.ENOENT and os.path.isdir(os.path.dirname(path)):
            return True  # somebody has taken it for one that a killed process had begun
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOENT):
            return False
        raise SandboxUnavailableError(
            f"{path} cannot be protected: {error.strerror}; make the folder above it writable"
        ) from error
    return True


def _create(path: str) -> None:
    """Make a stand-in; it bears the mark until it bears the stamp."""
    if is_file_name(path):
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        descriptor = os.open(path, flags, _MARK | 0o644)
    else:
        os.mkdir(path, _MARK | 0o755)
        # Not by its path, which may be a folder of the user's by now.
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(path, flags)
    try:
        if content := _content(path):
            os.write(descriptor, content)
        os.utime(descriptor, ns=(_STAMP, _STAMP))
        mode = stat.S_IMODE(os.fstat(descriptor).st_mode)
        if mode & _MARK:  # not every file system keeps it
            os.fchmod(descriptor, mode & ~_MARK)
    finally:
        os.close(descriptor)


def _content(path: str) -> bytes:
    """A git folder that names itself as the common one is the same repository as without that."""
    if os.path.basename(path) != "commondir":
        return b""
    return os.fsencode(os.path.dirname(path) + "\n")


def _is_stand_in(facts: os.stat_result) -> bool:
    return facts.st_mtime_ns == _STAMP


def _is_being_made(facts: os.stat_result) -> bool:
    """Whether another run may be between creating this and stamping it."""
    return not _is_stand_in(facts) and time.time_ns() - facts.st_ctime_ns < _BEING_MADE_NS


def _is_begun(path: str, descriptor: int) -> bool:
    """Whether this was made as a stand-in and does not bear the stamp: its maker was killed."""
    facts = os.fstat(descriptor)
    is_marked = bool(facts.st_mode & _MARK) and facts.st_uid == os.geteuid()
    if not is_marked or _is_stand_in(facts):
        return False
    if stat.S_ISDIR(facts.st_mode):
        return not os.listdir(descriptor)
    content = _content(path)
    return os.pread(descriptor, len(content) + 1, 0) in (b"", content)


def _take_away(path: str, descriptor: int) -> None:
    """Remove what a killed process has begun, unless its maker was only slow."""
    with contextlib.suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if _is_begun(path, descriptor) and _is_at(path, descriptor):
            _removal(os.fstat(descriptor))(path)
    os.close(descriptor)


def _removal(facts: os.stat_result) -> Callable[[str], None]:
    return os.rmdir if stat.S_ISDIR(facts.st_mode) else os.unlink


def _is_at(path: str, descriptor: int) -> bool:
    """Whether a path still leads to an open file."""
    try:
        now = os.lstat(path)
    except OSError:
        return False
    then = os.fstat(descriptor)
    return (now.st_dev, now.st_ino) == (then.st_dev, then.st_ino)


def _release(placeholder: Placeholder) -> bool:
    """Give up a stand-in; tells whether it was gone, and its protection with it."""
    path, descriptor = placeholder.path, placeholder.descriptor
    give_up = os.close
    try:
        if not _is_at(path, descriptor):
            return True
        facts = os.fstat(descriptor)
        if _is_stand_in(facts):
            with contextlib.suppress(OSError):  # another run needs it still, or it was filled
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _removal(facts)(path)
                give_up = close_later
        return False
    finally:
        give_up(descriptor)


def _restore_link(path: str, target: str) -> bool:
    """Put a symbolic link back; tells whether it had been changed."""
    try:
        if os.readlink(path) == target:
            return False
    except OSError:
        pass
    if os.path.lexists(path):
        os.rename(path, _rejected_name(path))
    os.symlink(target, path)
    return True


def _rejected_name(path: str) -> str:
    number = 1
    while os.path.lexists(f"{path}.rejected-{number}"):
        number += 1
    return f"{path}.rejected-{number}"
