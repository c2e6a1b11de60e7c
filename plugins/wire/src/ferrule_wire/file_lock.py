"""A lock that processes share by a file; the operating system gives it back when one dies."""

from __future__ import annotations

import os
import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

import anyio

from ferrule_wire.account import SignInError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

_PAUSE_S: Final = 0.05


@asynccontextmanager
async def held(path: Path, limit_s: float) -> AsyncGenerator[None]:
    """Hold the lock inside the block.

    Raises:
        SignInError: The file cannot be opened, or another process keeps it for too long.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
        descriptor = os.open(path, flags, 0o600)
    except OSError as error:
        raise SignInError(f"cannot lock {path}: {error.strerror}") from None
    try:
        with anyio.move_on_after(limit_s) as scope:
            while not _take(descriptor):  # noqa: ASYNC110 -- what another process does is no event
                await anyio.sleep(_PAUSE_S)
        if scope.cancelled_caught:
            raise SignInError(
                f"another process has held {path} for {limit_s:g} s; end it and try again"
            )
        yield
    finally:
        os.close(descriptor)


def _take(descriptor: int) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
