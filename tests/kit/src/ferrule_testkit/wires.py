"""Bare clients of an app-server over each transport: bytes go out as they are, frames come in."""

from __future__ import annotations

import http.client
import queue
import subprocess
import threading
import time
from contextlib import ExitStack
from typing import Final, Protocol, cast
from urllib.parse import urlsplit

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect, unix_connect

PATIENCE_S: Final = 120
_IDLE_S: Final = 10.0
_CLIENT_HEADER: Final = "Ferrule-Connection"


class Wire(Protocol):
    """One connection.

    Attributes:
        frames: What came, as it came; None at the end.
    """

    frames: queue.Queue[bytes | None]

    def send(self, raw: bytes) -> bool:
        """Send one message; False where it was refused or the connection is over."""
        ...

    def close(self) -> None:
        """End it."""
        ...


class StdioWire:
    """Over the pipes of a server that was started for it."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        """Read the process's standard output from now on."""
        self.frames: queue.Queue[bytes | None] = queue.Queue()
        self._process = process
        threading.Thread(target=self._read, daemon=True).start()

    def send(self, raw: bytes) -> bool:
        """Write a line."""
        assert self._process.stdin is not None
        self._process.stdin.write(raw + b"\n")
        self._process.stdin.flush()
        return True

    def close(self) -> None:
        """Close its standard input."""
        assert self._process.stdin is not None
        self._process.stdin.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.frames.put(line)
        self.frames.put(None)


class SocketWire:
    """Over a WebSocket, on TCP or on a unix socket."""

    def __init__(self, url: str) -> None:
        """Connect."""
        self.frames: queue.Queue[bytes | None] = queue.Queue()
        self._stack = ExitStack()
        self._link = self._stack.enter_context(_link(url))
        threading.Thread(target=self._read, daemon=True).start()

    def send(self, raw: bytes) -> bool:
        """Send a text frame, whatever is in it."""
        try:
            self._link.send(raw, text=True)
        except ConnectionClosed:
            return False
        return True

    def close(self) -> None:
        """Close it."""
        self._stack.close()

    def _read(self) -> None:
        try:
            for frame in self._link:
                self.frames.put(cast("str", frame).encode("utf-8", "surrogatepass"))
        except ConnectionClosed:
            pass
        self.frames.put(None)


class HttpWire:
    """Over HTTP: messages are posted, frames are events of a stream."""

    def __init__(self, url: str) -> None:
        """Open a connection and its stream."""
        self.frames: queue.Queue[bytes | None] = queue.Queue()
        self._place = urlsplit(url).netloc
        self._used_at = time.monotonic()
        self._posts = http.client.HTTPConnection(self._place, timeout=PATIENCE_S)
        opened = self.request("POST", "/connection")
        self._header = {_CLIENT_HEADER: opened.headers[_CLIENT_HEADER]}
        self._stream = http.client.HTTPConnection(self._place, timeout=120)
        self._stream.request("GET", "/events", headers=self._header)
        self._events = self._stream.getresponse()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def request(
        self, method: str, path: str, body: bytes | None = None
    ) -> http.client.HTTPResponse:
        """Send one request, and read the answer whole."""
        if time.monotonic() - self._used_at > _IDLE_S:  # the other end closes what is idle
            self._posts.close()
        self._used_at = time.monotonic()
        headers = getattr(self, "_header", {})
        self._posts.request(method, path, body, headers)
        answer = self._posts.getresponse()
        answer.read()
        return answer

    def send(self, raw: bytes) -> bool:
        """Post a message."""
        try:
            return self.request("POST", "/rpc", raw).status == 202
        except (OSError, http.client.HTTPException):  # refused before it was read
            self._posts.close()
            return False

    def close(self) -> None:
        """Have the server close it."""
        self.request("DELETE", "/connection")
        self._posts.close()
        self._reader.join(PATIENCE_S)

    def _read(self) -> None:
        try:
            for line in self._events:
                if line.startswith(b"data: "):
                    self.frames.put(line.removeprefix(b"data: "))
        except (OSError, http.client.HTTPException, ValueError):
            pass
        self._events.close()
        self._stream.close()
        self.frames.put(None)


def wire_to(url: str) -> Wire:
    """Connect over whatever the URL names."""
    return HttpWire(url) if url.startswith("http:") else SocketWire(url)


def _link(url: str) -> ClientConnection:
    if url.startswith("unix://"):
        return unix_connect(url.removeprefix("unix://"), max_size=None, open_timeout=PATIENCE_S)
    return connect(url, max_size=None, proxy=None, open_timeout=PATIENCE_S)
