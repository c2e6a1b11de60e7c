"""Landlock's system calls, and the part of it that is of use without rules about files."""

from __future__ import annotations

import ctypes
import os
import struct
from functools import cache
from typing import Final

_CREATE, _ADD = 444, 445
_VERSION_FLAG: Final = 1
_PATH_BENEATH: Final = 1
_BIND_TCP, _CONNECT_TCP = 1 << 0, 1 << 1
_SCOPE_ABSTRACT_SOCKETS, _SCOPE_SIGNALS = 1 << 0, 1 << 1
_NETWORK_SINCE: Final = 4
SCOPES_SINCE: Final = 6


@cache
def landlock_version() -> int:
    """The version of Landlock's interface; 0 where the kernel has none or it is switched off."""
    version = _system_call(_CREATE, None, 0, _VERSION_FLAG)
    return max(version, 0)


def create_ruleset(files: int, version: int, *, network: bool) -> int:
    """Create a ruleset and return its descriptor.

    It keeps abstract sockets and processes outside out of reach where the version can.

    Args:
        files: The rights to files that are refused but where they are granted.
        version: Of Landlock's interface; the kernel refuses fields that its own does not have.
        network: Whether TCP may be used.

    Raises:
        OSError: The kernel has no Landlock.
    """
    attributes = struct.pack("=Q", files)
    if version >= _NETWORK_SINCE:
        attributes += struct.pack("=Q", 0 if network else _BIND_TCP | _CONNECT_TCP)
    if version >= SCOPES_SINCE:
        attributes += struct.pack("=Q", _SCOPE_ABSTRACT_SOCKETS | _SCOPE_SIGNALS)
    return _succeeding(_system_call(_CREATE, attributes, len(attributes), 0))


def add_path(ruleset: int, opened: int, rights: int) -> None:
    """Grant rights for an open path and all below it.

    Raises:
        OSError: The kernel refuses the rule.
    """
    rule = struct.pack("=Qi", rights, opened)
    _succeeding(_system_call(_ADD, ruleset, _PATH_BENEATH, rule, 0))


def _succeeding(answer: int) -> int:
    if answer < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return answer


@cache
def _library() -> ctypes.CDLL:
    library = ctypes.CDLL(None, use_errno=True)
    library.syscall.restype = ctypes.c_long
    return library


def _system_call(number: int, *arguments: int | bytes | None) -> int:
    """Call the kernel; the numbers of Landlock's calls are the same on every architecture."""
    converted = [
        ctypes.c_long(argument) if isinstance(argument, int) else argument for argument in arguments
    ]
    return _library().syscall(ctypes.c_long(number), *converted)
