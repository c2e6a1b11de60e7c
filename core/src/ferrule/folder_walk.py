"""Opens folders one component at a time and never through a symbolic link. Called by `files.py`.

A path that was judged stays the path that is used: when somebody swaps a component for a link
between the judgement and the use, the walk fails instead of leaving the folder it was judged in.
"""

from __future__ import annotations

import os
from typing import Final

_FOLDER: Final = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def open_folder(path: str, created: list[str] | None = None, root: str = "") -> int:
    """Open a folder by its canonical path; the caller closes the descriptor.

    Args:
        path: Absolute and canonical.
        created: Where given, missing folders are created and noted here, outermost first.
        root: The folder in which `/` of a view lies; empty for the real one.

    Raises:
        OSError: A component is missing, is no folder, or has become a symbolic link.
    """
    here = os.open(root or "/", _FOLDER & ~os.O_NOFOLLOW)
    walked = ""
    for name in filter(None, path.split("/")):
        walked = f"{walked}/{name}"
        try:
            below = _enter(here, name, walked, created)
        except OSError as error:
            raise OSError(error.errno, error.strerror, walked) from error
        finally:
            os.close(here)
        here = below
    return here


def _enter(folder: int, name: str, walked: str, created: list[str] | None) -> int:
    try:
        return os.open(name, _FOLDER, dir_fd=folder)
    except FileNotFoundError:
        if created is None:
            raise
    os.mkdir(name, dir_fd=folder)
    created.append(walked)
    return os.open(name, _FOLDER, dir_fd=folder)
