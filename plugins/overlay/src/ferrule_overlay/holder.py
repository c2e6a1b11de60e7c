"""A small process that makes the mounts of a view in namespaces of its own, and keeps them.

Run by `mounted.py` as `python -I -S holder.py JSON`, with nothing but the standard library. It says
`ready`, or why not, and ends with its standard input: with the session, however that ends.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
from typing import Any, Final

NEW_MOUNTS: Final = 0x00020000
NEW_USERS: Final = 0x10000000
BIND: Final = 0x1000
RECURSIVE: Final = 0x4000
SLAVE: Final = 0x80000


class MountError(Exception):
    """A system call was refused."""


def main(text: str) -> int:
    """Make the mounts and wait for the end of the session."""
    orders: list[dict[str, Any]] = json.loads(text)
    try:
        _enter_namespaces()
        for order in orders:
            _mount(order)
    except (MountError, OSError) as error:
        _say(f"error: {error}")
        return 1
    _say("ready")
    while os.read(0, 4096):
        pass
    return 0


def _say(word: str) -> None:
    os.write(1, word.encode(errors="surrogateescape") + b"\n")


def _enter_namespaces() -> None:
    """Leave the mounts of the machine; without its rights, by way of a user namespace."""
    user, group = os.geteuid(), os.getegid()
    libc = ctypes.CDLL(None, use_errno=True)
    if user != 0 or libc.unshare(NEW_MOUNTS) != 0:
        _check(libc.unshare(NEW_USERS | NEW_MOUNTS), "a user namespace")
        _write("/proc/self/setgroups", "deny")
        _write("/proc/self/uid_map", f"{user} {user} 1")
        _write("/proc/self/gid_map", f"{group} {group} 1")
    _check(libc.mount(b"none", b"/", None, RECURSIVE | SLAVE, None), "a private view of mounts")


def _mount(order: dict[str, Any]) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    target = os.fsencode(order["target"])
    if order["mechanism"] == "copy":
        source = os.fsencode(order["upper"])
        _check(libc.mount(source, target, None, BIND, None), f"{order['target']}")
        return
    lower = ":".join(_escaped(path) for path in order["lower"])
    upper, work = _escaped(order["upper"]), _escaped(order["work"])
    options = f"lowerdir={lower},upperdir={upper},workdir={work},userxattr"
    status = libc.mount(b"ferrule", target, b"overlay", 0, os.fsencode(options))
    _check(status, f"an overlay of {order['target']}")


def _escaped(path: str) -> str:
    """Write a path as the options of an overlay take it."""
    for sign in ("\\", ":", ","):
        path = path.replace(sign, f"\\{sign}")
    return path


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def _check(status: int, what: str) -> None:
    if status != 0:
        raise MountError(f"{what}: {os.strerror(ctypes.get_errno())}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
