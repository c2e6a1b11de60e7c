"""What a server writes to its standard error: kept in a file of bounded size, for a person."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

    from ferrule_hookspecs.tools import Process

_FILE_LIMIT: Final = 1024 * 1024
_TAIL_LIMIT: Final = 2000
_LINE_LIMIT: Final = 16 * 1024


class ServerLog:
    """The standard error of one server; the newest two mebibytes are kept."""

    def __init__(self, home: Path, name: str) -> None:
        plain = "".join(c if c.isalnum() or c in "-_." else "_" for c in name)
        self._file = home / "log" / "mcp" / f"{plain}.log"
        self._tail = b""

    @property
    def tail(self) -> str:
        """The last lines, for a message."""
        lines = self._tail.decode("utf-8", "replace").strip().splitlines()
        return " / ".join(line.strip() for line in lines[-3:] if line.strip())[-400:]

    @property
    def path(self) -> str:
        """Where the rest is."""
        return str(self._file)

    def add(self, data: bytes) -> None:
        """Keep what was written."""
        self._tail = (self._tail + data)[-_TAIL_LIMIT:]
        with suppress(OSError):  # a full disk must not stop the server
            self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if self._file.exists() and self._file.stat().st_size > _FILE_LIMIT:
                os.replace(self._file, self._file.with_suffix(".log.1"))
            handle = os.open(self._file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            with os.fdopen(handle, "ab") as log:
                log.write(data)

    def note(self, line: str) -> None:
        """Keep a line that the server logs by the protocol."""
        self.add(line.replace("\n", "\n  ").encode("utf-8", "replace")[:_LINE_LIMIT] + b"\n")

    async def follow(self, process: Process) -> None:
        """Keep everything that a program writes there, to its end."""
        while data := await process.read_stderr():
            self.add(data)
