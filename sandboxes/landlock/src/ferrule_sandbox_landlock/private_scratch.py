"""A temporary folder of its own for a command that may write nothing else."""

from __future__ import annotations

import os
from contextlib import suppress
from itertools import count
from typing import Final

_PLACES: Final = ("/dev/shm", "/tmp")  # noqa: S108  # folders of our own are made in them
_PREFIX: Final = "ferrule-scratch-"
_numbers = count()
_swept: set[str] = set()


def make_scratch() -> str:
    """Make a folder that only this user may enter.

    Raises:
        OSError: There is no place for one.
    """
    place = next((place for place in _PLACES if os.access(place, os.W_OK)), _PLACES[-1])
    if place not in _swept:
        _swept.add(place)
        _remove_left_behind(place)
    while True:
        path = f"{place}/{_PREFIX}{os.getpid()}-{next(_numbers)}"
        try:
            os.mkdir(path, 0o700)
        except FileExistsError:
            continue  # of a killed process that had our number
        return path


def remove_scratch(path: str) -> None:
    """Remove a folder with all that a command left in it."""
    try:
        os.rmdir(path)
    except OSError:
        import shutil

        shutil.rmtree(path, ignore_errors=True)


def _remove_left_behind(place: str) -> None:
    """Remove what processes left that were killed."""
    for name in os.listdir(place):
        maker = name.removeprefix(_PREFIX).partition("-")[0]
        if name.startswith(_PREFIX) and not os.path.exists(f"/proc/{maker}"):
            with suppress(OSError):
                if os.lstat(f"{place}/{name}").st_uid == os.geteuid():
                    remove_scratch(f"{place}/{name}")
