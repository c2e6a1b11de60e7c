"""A bare client of an app-server over a socket that carries one message a line."""

from __future__ import annotations

import queue
import socket
import threading
from typing import Final
from urllib.parse import urlsplit

PATIENCE_S: Final = 120


class LineWire:
    """Over TCP; one more of the wires in `wires.py`.

    Attributes:
        frames: What came, as it came; None at the end.
        trouble: Why the last message that was refused was.
    """

    def __init__(self, url: str) -> None:
        """Connect to the host and port of a URL, whatever its scheme."""
        place = urlsplit(url)
        self.frames: queue.Queue[bytes | None] = queue.Queue()
        self.trouble = ""
        self._socket = socket.create_connection((place.hostname, place.port), PATIENCE_S)
        self._socket.settimeout(None)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def send(self, raw: bytes) -> bool:
        """Write a line."""
        try:
            self._socket.sendall(raw + b"\n")
        except OSError as error:
            self.trouble = repr(error)
            return False
        return True

    def close(self) -> None:
        """Hang up, and wait until nobody reads any more."""
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:  # the other end has hung up
            self.trouble = self.trouble or "the other end has hung up"
        self._reader.join(PATIENCE_S)
        self._socket.close()

    def _read(self) -> None:
        with self._socket.makefile("rb") as lines:
            try:
                for line in lines:
                    self.frames.put(line.removesuffix(b"\n"))
            except OSError as error:
                self.trouble = repr(error)
        self.frames.put(None)
