"""Bare clients of an app-server over each transport: bytes go out as they are, frames come in."""

from __future__ import annotations

import queue
import subprocess
import threading
import time
from contextlib import ExitStack, closing
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPResponse
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
        trouble: Why the last message that was refused was.
    """

    frames: queue.Queue[bytes | None]
    trouble: str

    def send(self, raw: bytes) -> bool:
        """Send one message; False where it was refused or the connection is over."""
        ...

    def close(self) -> None:
        """End it, unless it has been already; nothing of it stays open, whatever is raised."""
        ...


class StdioWire:
    """Over the pipes of a server that was started for it."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        """Read the process's standard output from now on."""
        self.frames: queue.Queue[bytes | None] = queue.Queue()
        self.trouble = ""
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
        self.trouble = ""
        self._stack = ExitStack()
        self._link = self._stack.enter_context(_link(url))
        threading.Thread(target=self._read, daemon=True).start()

    def send(self, raw: bytes) -> bool:
        """Send a text frame, whatever is in it."""
        try:
            self._link.send(raw, text=True)
        except ConnectionClosed as error:
            self.trouble = repr(error)
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
        self.trouble = ""
        self._used_at = time.monotonic()
        self._header: dict[str, str] = {}
        place = urlsplit(url).netloc
        with ExitStack() as stack:
            self._posts = stack.enter_context(closing(HTTPConnection(place, timeout=PATIENCE_S)))
            opened, _ = self._request("POST", "/connection")
            self._header = {_CLIENT_HEADER: opened.headers[_CLIENT_HEADER]}
            stream = stack.enter_context(closing(HTTPConnection(place, timeout=PATIENCE_S)))
            stream.request("GET", "/events", headers=self._header)
            self._events = stack.enter_context(stream.getresponse())
            reader = threading.Thread(target=self._read, daemon=True)
            reader.start()
            stack.callback(reader.join, PATIENCE_S)
            stack.callback(self._request, "DELETE", "/connection")
            self._stack = stack.pop_all()

    def send(self, raw: bytes) -> bool:
        """Post a message."""
        try:
            answer, text = self._request("POST", "/rpc", raw)
        except (OSError, HTTPException) as error:  # refused before it was read
            self.trouble = repr(error)
            return False
        self.trouble = f"{answer.status} {text}"
        return answer.status == HTTPStatus.ACCEPTED

    def close(self) -> None:
        """Have the server close it."""
        self._stack.close()

    def _request(
        self, method: str, path: str, body: bytes | None = None
    ) -> tuple[HTTPResponse, str]:
        """Send one request, and read the answer whole.

        The other end hangs up on what is idle, and takes nothing of a request that does not come
        whole soon. Where this process stood still for so long while it sent, it sends again.
        """
        while True:
            begun = time.monotonic()
            if begun - self._used_at > _IDLE_S:
                self._posts.close()
            self._used_at = begun
            stood_still = False
            try:
                try:
                    self._posts.request(method, path, body, self._header)
                finally:
                    stood_still = time.monotonic() - begun > _IDLE_S
                answer = self._posts.getresponse()
                text = answer.read().decode(errors="replace")
            except (OSError, HTTPException):
                self._posts.close()
                if not stood_still:
                    raise
            else:
                if answer.status != HTTPStatus.REQUEST_TIMEOUT or not stood_still:
                    return answer, text

    def _read(self) -> None:
        try:
            for line in self._events:
                if line.startswith(b"data: "):
                    self.frames.put(line.removeprefix(b"data: "))
        except (OSError, HTTPException, ValueError):
            pass
        self.frames.put(None)


def wire_to(url: str) -> Wire:
    """Connect over whatever the URL names."""
    return HttpWire(url) if url.startswith("http:") else SocketWire(url)


def _link(url: str) -> ClientConnection:
    if url.startswith("unix://"):
        return unix_connect(url.removeprefix("unix://"), max_size=None, open_timeout=PATIENCE_S)
    return connect(url, max_size=None, proxy=None, open_timeout=PATIENCE_S)
