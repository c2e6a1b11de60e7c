"""`ferrule app-server proxy`: lines on stdin and stdout, to and from a server on a unix socket."""

from __future__ import annotations

import argparse
import os
import select
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ferrule_app_server.daemon.folder import run_folder
from ferrule_hookspecs.errors import FerruleError
from ferrule_hookspecs.serving import MESSAGE_LIMIT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from websockets.sync.client import ClientConnection

    from ferrule_app_server.arguments import Options
    from ferrule_hookspecs.host import Host

_STDIN: Final = 0
_CHUNK: Final = 256 * 1024
_SILENCE_S: Final = 0.5
_LAST_WORDS_S: Final = 5.0
_ABOUT: Final = """\
Connects stdin and stdout, one message a line, to a server on a unix socket: that of
`ferrule app-server daemon` where no other is named. Ends when stdin does."""


class ProxyError(FerruleError):
    """There is no server to connect to, or it went away."""


def run(argv: Sequence[str], host: Host, options: Options) -> int:
    """Run with the arguments from `proxy` on; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="ferrule app-server proxy",
        description=_ABOUT,
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--sock", metavar="PATH", help="the socket; unix://PATH is the same")
    named = parser.parse_args(argv[1:]).sock
    path = Path(named.removeprefix("unix://")) if named else run_folder(host.home).socket
    return _Bridge(_connect(path)).run()


def _connect(path: Path) -> ClientConnection:
    try:
        from websockets.exceptions import WebSocketException
        from websockets.sync.client import unix_connect
    except ImportError as error:
        raise ProxyError(
            "the proxy needs the package websockets: pip install 'ferrule-app-server[proxy]'"
        ) from error
    try:
        return unix_connect(str(path), compression=None, max_size=MESSAGE_LIMIT, ping_timeout=None)
    except (FileNotFoundError, ConnectionRefusedError) as error:
        raise ProxyError(
            f"no server listens at {path}: start one with `ferrule app-server daemon start`"
        ) from error
    except (OSError, EOFError, TimeoutError, WebSocketException) as error:
        raise ProxyError(f"the server at {path} does not let anybody in: {error}") from error


class _Bridge:
    """Copies both ways: stdin in the main thread, the server's messages in another."""

    def __init__(self, link: ClientConnection) -> None:
        self._link = link
        self._ended, self._end = os.pipe()
        self._heard = threading.Event()
        self._is_cut_off = False

    def run(self) -> int:
        listening = threading.Thread(target=self._listen, daemon=True)
        listening.start()
        self._say()
        was_cut_off = self._is_cut_off
        self._link.close()
        listening.join(_LAST_WORDS_S)
        if was_cut_off:
            sys.stderr.write("error: the server has closed the connection\n")
        return int(was_cut_off)

    def _say(self) -> None:
        from websockets.exceptions import ConnectionClosed

        try:
            for line in self._lines():
                self._link.send(line, text=True)
        except ConnectionClosed:
            self._is_cut_off = True
        else:
            self._wait_for_answers()

    def _lines(self) -> Iterator[bytes]:
        """Yield lines of stdin until it ends, or the server is gone."""
        pieces: list[bytes] = []
        while not self._is_cut_off:
            ready, _, _ = select.select([_STDIN, self._ended], [], [])
            if self._ended in ready:
                return
            chunk = os.read(_STDIN, _CHUNK)
            *ends, rest = chunk.split(b"\n")
            for end in ends:
                line, pieces = b"".join((*pieces, end)), []
                if line.strip():
                    yield line
            pieces.append(rest)
            if not chunk:
                break
        if line := b"".join(pieces).strip():
            yield line

    def _wait_for_answers(self) -> None:
        """Let the server answer what was asked last: what it means is not known here."""
        until = time.monotonic() + _LAST_WORDS_S
        while not self._is_cut_off and time.monotonic() < until:
            self._heard.clear()
            if not self._heard.wait(_SILENCE_S):
                return

    def _listen(self) -> None:
        from websockets.exceptions import ConnectionClosed

        try:
            while True:
                sys.stdout.buffer.write(self._link.recv(decode=False) + b"\n")
                sys.stdout.buffer.flush()
                self._heard.set()
        except (ConnectionClosed, BrokenPipeError):
            self._is_cut_off = True
            os.close(self._end)
