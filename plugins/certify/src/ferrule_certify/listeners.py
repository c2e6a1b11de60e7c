"""The servers outside of the sandbox: each notes the words that reach it, and answers "heard"."""

from __future__ import annotations

import os
import re
import secrets
import selectors
import socket
import sys
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from ferrule_hookspecs.sandbox import Door

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

_WORD: Final = re.compile(rb"w[0-9a-f]{31}")
_SECONDS: Final = 5
_UDP_LITE: Final = 136


def new_word() -> str:
    """Make a word that nobody says by chance."""
    return "w" + secrets.token_hex(16)[:31]


class Listeners:
    """All of them in one thread; a context manager."""

    def __init__(self, folder: Path) -> None:
        """Open the sockets; `folder` gets those that have a path."""
        folder.mkdir(exist_ok=True)
        self.facts: dict[str, object] = {"address": _own_address()}
        self._heard: set[bytes] = set()
        self._through_door: set[bytes] = set()
        self._guard = threading.Lock()
        self._selector = selectors.DefaultSelector()
        self._waker, self._wake = socket.socketpair()
        self._settled = threading.Event()
        self._asked = threading.Lock()
        self._selector.register(self._waker, selectors.EVENT_READ, "wake")
        self._open_internet()
        self._open_local(str(folder))
        self._open_terminal()
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> Listeners:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._wake.close()
        self._thread.join()

    def heard(self, word: str, *, through_door: bool = False) -> bool:
        """Whether a word has arrived, with everything looked at that is under way."""
        with self._asked:
            self._settled.clear()
            self._wake.send(b"?")
            self._settled.wait(_SECONDS * 6)
        with self._guard:
            return word.encode() in (self._through_door if through_door else self._heard)

    def door(self) -> Door:
        """Make a way out for one command, whose words are noted apart."""
        port = self.facts["door"]
        return Door(port if isinstance(port, int) else 0, self._take_over)

    def listen_in(self, path: str) -> socket.socket:
        """Open one more socket of a service; the caller closes it by `forget`."""
        made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        made.bind(path)
        made.listen()
        self._add(made, "stream")
        return made

    def forget(self, made: socket.socket) -> None:
        """Close a socket opened by `listen_in`."""
        with suppress(KeyError, OSError):
            self._selector.unregister(made)
        made.close()

    def _take_over(self, descriptor: int) -> None:
        self._add(socket.socket(fileno=descriptor), "door")
        self._wake.send(b"!")

    def _add(self, made: socket.socket | int, kind: str) -> None:
        if isinstance(made, socket.socket):
            made.setblocking(False)
        self._selector.register(made, selectors.EVENT_READ, kind)

    def _open_internet(self) -> None:
        stream, datagram = socket.SOCK_STREAM, socket.SOCK_DGRAM
        wanted = (
            ("tcp", socket.AF_INET, stream, "", 0),
            ("tcp6", socket.AF_INET6, stream, "::1", 0),
            ("udp", socket.AF_INET, datagram, "127.0.0.1", 0),
            ("udp6", socket.AF_INET6, datagram, "::1", 0),
            ("udp_lite", socket.AF_INET, datagram, "127.0.0.1", _UDP_LITE),
            ("door", socket.AF_INET, stream, "127.0.0.1", 0),
        )
        for name, family, kind, address, protocol in wanted:
            self.facts[name] = 0
            with suppress(OSError):  # then the probe finds nobody without a sandbox either
                made = socket.socket(family, kind, protocol)
                made.bind((address, 0))
                self.facts[name] = made.getsockname()[1]
                if kind == stream:
                    made.listen(64)
                word = "stream" if kind == stream else "datagram"
                self._add(made, "door" if name == "door" else word)

    def _open_local(self, folder: str) -> None:
        if not hasattr(socket, "AF_UNIX"):
            return
        abstract = f"ferrule-certify-{secrets.token_hex(8)}"
        self.facts["abstract"] = abstract
        names = {
            "service": ("service.sock", ""),
            "service_datagram": ("datagram.sock", "-datagram"),
        }
        for fact, (name, ending) in names.items():
            kind = socket.SOCK_STREAM if fact == "service" else socket.SOCK_DGRAM
            self.facts[fact] = os.path.join(folder, name)
            addresses = [os.path.join(folder, name)]
            if sys.platform == "linux":
                addresses.append("\0" + abstract + ending)
            for address in addresses:
                made = socket.socket(socket.AF_UNIX, kind)
                made.bind(address)
                if kind == socket.SOCK_STREAM:
                    made.listen(64)
                self._add(made, "stream" if kind == socket.SOCK_STREAM else "datagram")

    def _open_terminal(self) -> None:
        """Open a terminal that a probe may try to write to; an empty name where there is none."""
        self.facts["terminal"] = ""
        if os.name != "posix":
            return
        import pty

        self._terminal = pty.openpty()
        os.set_blocking(self._terminal[0], False)
        self.facts["terminal"] = os.ttyname(self._terminal[1])
        self._add(self._terminal[0], "file")

    def _serve(self) -> None:
        while True:
            asked = False
            for key, _ in self._selector.select():
                if key.data == "wake":
                    text = self._waker.recv(64)
                    if not text:
                        self._close()
                        return
                    asked = asked or b"?" in text
                    continue
                self._take(key.fileobj, str(key.data))
            if asked:
                while waiting := [k for k, _ in self._selector.select(0) if k.data != "wake"]:
                    for key in waiting:
                        self._take(key.fileobj, str(key.data))
                self._settled.set()

    def _take(self, made: object, kind: str) -> None:
        with suppress(OSError):
            if isinstance(made, int):
                self._note(os.read(made, 4096), kind)
            elif isinstance(made, socket.socket) and kind == "datagram":
                self._note(made.recv(4096), kind)
            elif isinstance(made, socket.socket):
                with made.accept()[0] as client:
                    client.settimeout(_SECONDS)
                    self._note(client.recv(4096), kind)
                    client.sendall(b"heard")

    def _note(self, data: bytes, kind: str) -> None:
        with self._guard:
            (self._through_door if kind == "door" else self._heard).update(_WORD.findall(data))

    def _close(self) -> None:
        for key in list(self._selector.get_map().values()):
            if isinstance(key.fileobj, socket.socket):
                key.fileobj.close()
        self._selector.close()
        if self.facts["terminal"]:
            for descriptor in self._terminal:
                os.close(descriptor)


def _own_address() -> str:
    """The address this machine has beside the loopback one; empty where it has none."""
    with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as made:
        made.connect(("192.0.2.1", 9))
        address = str(made.getsockname()[0])
        return "" if address.startswith("127.") else address
    return ""
