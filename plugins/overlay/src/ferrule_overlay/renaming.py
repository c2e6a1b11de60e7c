"""Renames that never overwrite: by `renameat2` where the system has it, carefully where not."""

from __future__ import annotations

import ctypes
import errno
import functools
import os
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

_NOREPLACE: Final = 1
_EXCHANGE: Final = 2
_UNSUPPORTED: Final = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP)


def move_new(folder: int, source: str, target: str) -> None:
    """Give a file a name that must be free; raises `FileExistsError` where it is not."""
    if _renamed(folder, source, target, _NOREPLACE):
        return
    try:
        os.lstat(target, dir_fd=folder)
    except FileNotFoundError:
        os.rename(source, target, src_dir_fd=folder, dst_dir_fd=folder)
    else:
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target)


def exchange(folder: int, one: str, other: str) -> None:
    """Swap what two names of a folder stand for; neither is ever missing.

    Where the system cannot, a third name is used, and `other` is missing for a moment.
    """
    if _renamed(folder, one, other, _EXCHANGE):
        return
    spare = swap_name(one)
    move_new(folder, other, spare)
    move_new(folder, one, other)
    move_new(folder, spare, one)


def swap_name(one: str) -> str:
    """The third name."""
    return f"{one}-swap"


def _renamed(folder: int, source: str, target: str, flag: int) -> bool:
    call = _renameat2()
    if call is None:
        return False
    if call(folder, os.fsencode(source), folder, os.fsencode(target), flag) == 0:
        return True
    code = ctypes.get_errno()
    if code in _UNSUPPORTED:
        return False
    raise OSError(code, os.strerror(code), target)


@functools.cache
def _renameat2() -> Callable[..., int] | None:
    try:
        return ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):
        return None
