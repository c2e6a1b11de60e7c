"""Finds the sockets of services outside of the sandbox, which a command must not reach.

Namespaces do not hide a socket that lies in a folder, and neither does a read-only mount:
connecting writes no file. So the socket's path, or the whole folder where only services keep
theirs, is covered. A socket that appears while a command runs is covered for the next one.
"""

from __future__ import annotations

import os
from typing import Final

from ferrule_sandbox_bubblewrap.reach import is_reachable, is_socket

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
        if not path.startswith(covered) and is_socket(path) and is_reachable(path)
    ][:_LIMIT]
