"""Where a command could get to by the permissions of folders alone."""

from __future__ import annotations

import os
import stat


def is_reachable(path: str) -> bool:
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


def is_socket(path: str) -> bool:
    """Whether a path is a socket itself, and no link to one."""
    try:
        return stat.S_ISSOCK(os.lstat(path).st_mode)
    except OSError:
        return False
