"""Noticing what is started in a block: sockets, processes and threads."""

from __future__ import annotations

import os
import socket
import subprocess
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_STARTING = (
    (socket.socket, "connect", "connects a socket"),
    (socket.socket, "bind", "binds a socket"),
    (subprocess.Popen, "__init__", "starts a process"),
    (threading.Thread, "start", "starts a thread"),
    (os, "system", "starts a process"),
    *(((os, "fork", "forks"),) if hasattr(os, "fork") else ()),
    *(((os, "posix_spawn", "starts a process"),) if hasattr(os, "posix_spawn") else ()),
)


@contextmanager
def noted_starts() -> Iterator[list[str]]:
    """Give a list of what was started in the block, in words."""
    noted: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        for owner, name, words in _STARTING:
            patch.setattr(owner, name, _noting(getattr(owner, name), words, noted))
        yield noted


def _noting(function: Callable[..., object], words: str, noted: list[str]) -> Callable[..., object]:
    def called(*arguments: object, **options: object) -> object:
        noted.append(words)
        return function(*arguments, **options)

    return called
