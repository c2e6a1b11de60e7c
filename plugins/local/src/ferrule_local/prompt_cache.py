"""Keeps what the model worked out from its prompt, so that only the first run has to read it.

Reading the prompt takes half a minute of one core. Runs in the engine process; the native library
offers it only over its socket, which is why this speaks HTTP to the process it runs in.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import socket
from typing import Any, Final, NamedTuple

_SECONDS: Final = 60.0
_SUFFIX: Final = ".prompt"
_KEPT: Final = 4


class PromptCache(NamedTuple):
    """Where the states of prompts lie, and how to reach the library.

    Attributes:
        folder: Where the files are.
        address: Path of the socket.
        api_key: The key it asks for.
    """

    folder: str
    address: str
    api_key: str

    def restore(self, name: str) -> bool:
        """Put a state back; false where there is none that is of use."""
        if not os.path.isfile(os.path.join(self.folder, name)):
            return False
        return self._ask("restore", name)

    def save(self, name: str) -> bool:
        """Keep the present state under a name, and only a few others."""
        os.makedirs(self.folder, mode=0o700, exist_ok=True)
        new = f"{name}.{os.getpid()}"
        if not self._ask("save", new):
            return False
        os.replace(os.path.join(self.folder, new), os.path.join(self.folder, name))
        self._tidy()
        return True

    def _ask(self, action: str, name: str) -> bool:
        connection = _SocketConnection(self.address)
        try:
            connection.request(
                "POST",
                f"/slots/0?action={action}",
                json.dumps({"filename": name}),
                {"Authorization": f"Bearer {self.api_key}", "Content-Type": "application/json"},
            )
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False  # a cache that does not work costs time and nothing else
        finally:
            connection.close()

    def _tidy(self) -> None:
        files = [entry for entry in os.scandir(self.folder) if entry.is_file()]
        files.sort(key=lambda entry: entry.stat().st_mtime)
        for entry in files[:-_KEPT]:
            os.unlink(entry.path)


def state_name(*facts: Any) -> str:  # noqa: ANN401 -- whatever JSON can say
    """Name the state of a prompt by everything it depends on."""
    text = json.dumps(facts, sort_keys=True)
    return f"{hashlib.sha256(text.encode()).hexdigest()[:32]}{_SUFFIX}"


class _SocketConnection(http.client.HTTPConnection):
    """HTTP over a socket of this machine."""

    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=_SECONDS)
        self._path = path

    def connect(self) -> None:
        """Connect to the socket."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(_SECONDS)
        self.sock.connect(self._path)
