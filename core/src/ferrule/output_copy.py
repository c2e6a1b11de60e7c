"""Copies what a command says to where it would have gone, and keeps it to be looked at."""

from __future__ import annotations

import os
import threading
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from types import TracebackType

_PIECE: Final = 65_536
_KEPT: Final = 64


class OutputCopy:
    """Two pipes for a command's output and errors, each copied to a descriptor of ours."""

    def __init__(self, stdout: int, stderr: int) -> None:
        """Open the pipes; what comes through them goes on to these descriptors."""
        self._kept: deque[bytes] = deque(maxlen=_KEPT)
        pipes = [(os.pipe(), target) for target in (stdout, stderr)]
        self.stdout, self.stderr = (write for (_, write), _ in pipes)
        self._threads = [
            threading.Thread(target=self._copy, args=(read, target), daemon=True)
            for (read, _), target in pipes
        ]
        for thread in self._threads:
            thread.start()

    def __enter__(self) -> OutputCopy:
        """Return itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close our ends, and wait until everything has been copied."""
        for descriptor in (self.stdout, self.stderr):
            os.close(descriptor)
        for thread in self._threads:
            thread.join()

    @property
    def text(self) -> str:
        """The last of what was said, output and errors as they came."""
        return b"".join(self._kept).decode("utf-8", "replace")

    def _copy(self, source: int, target: int) -> None:
        with open(source, "rb", buffering=0) as pipe:
            while piece := pipe.read(_PIECE):
                self._kept.append(piece)
                with suppress(OSError):  # nobody may be reading any more; the command goes on
                    _write_all(target, piece)


def _write_all(target: int, piece: bytes) -> None:
    rest = memoryview(piece)
    while rest:
        rest = rest[os.write(target, rest) :]
