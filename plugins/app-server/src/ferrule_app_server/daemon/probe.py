"""Asks the daemon's socket whether somebody answers there."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

_REQUEST: Final = b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
_WAIT_S: Final = 2


def answers(path: Path) -> bool:
    """Tell whether a server is ready on a unix socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.settimeout(_WAIT_S)
        try:
            client.connect(str(path))
            client.sendall(_REQUEST)
            return client.recv(64).startswith(b"HTTP/1.1 200 ")
        except OSError:
            return False
