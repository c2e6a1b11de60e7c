"""Finds the sockets of services outside of the sandbox, which a command must not reach.

Namespaces do not hide a socket that lies in a folder, and neither does a read-only mount:
connecting writes no file. So the socket's path, or the whole folder where only services keep
theirs, is covered. A socket that appears while a command runs is covered for the next one.
"""

from __future__ import annotations

import os
import stat
from typing import Final

_TABLE: Final = "/proc/net/unix"
_PATH_FIELD: Final = 7
_LIMIT: Final = 512
_SERVICE_FOLDERS: Final = (
    f"/run/user/{os.getuid()}",
    "/run/dbus",
    "/tmp/.X11-unix",  # noqa: S108  # covered, not written
    "/tmp/.ICE-unix",  # noqa: S108  # covered, not written
)


def service_folders() -> list[str]:
    """Return the folders that hold nothing but sockets of services."""
    return [folder for folder in _SERVICE_FOLDERS if os.path.isdir(folder)]


def host_sockets() -> list[str]:
    """Return the paths of open sockets, those in service folders left out."""
    try:
        with open(_TABLE, "rb") as table:
            lines = table.read().splitlines()[1:]
    except OSError:
        return []
    covered = tuple(folder + "/" for folder in _SERVICE_FOLDERS)
    paths = {
        os.fsdecode(fields[_PATH_FIELD])
        for fields in (line.split(None, _PATH_FIELD) for line in lines)
        if len(fields) > _PATH_FIELD and fields[_PATH_FIELD].startswith(b"/")
    }
    canonical = sorted({os.path.realpath(path) for path in paths})
    return [
        path
        for path in canonical
        if not path.startswith(covered) and _is_socket(path) and _is_reachable(path)
    ][:_LIMIT]


def _is_reachable(path: str) -> bool:
    """Whether a command could get to a path: what its folders refuse needs no cover.

    A command has no capabilities over other users' files, not even where we are root, so only the
    permission bits count; bubblewrap itself could not mount anything there either.
    """
    groups = {os.getegid(), *os.getgroups()}
    folder = os.path.dirname(path)
    while True:
        try:
            facts = os.stat(folder)
        except OSError:
            return False
        if facts.st_uid == os.geteuid():
            needed = stat.S_IXUSR
        else:
            needed = stat.S_IXGRP if facts.st_gid in groups else stat.S_IXOTH
        if not facts.st_mode & needed:
            return False
        if folder == "/":
            return True
        folder = os.path.dirname(folder)


def _is_socket(path: str) -> bool:
    try:
        return stat.S_ISSOCK(os.lstat(path).st_mode)
    except OSError:
        return False
