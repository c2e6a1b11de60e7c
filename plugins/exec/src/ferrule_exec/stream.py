"""Unbuffered output: what is written has left the process when `write` returns."""

from __future__ import annotations

import os
import select


class Stream:
    """A file descriptor to write text to."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.is_broken = False

    def write(self, text: str) -> None:
        """Write all of the text; after a reader has gone, nothing more is written."""
        if self.is_broken:
            return
        # A lone surrogate may come from a model's JSON and has no UTF-8 form.
        rest = memoryview(text.encode("utf-8", "replace"))
        while rest:
            try:
                rest = rest[os.write(self.fd, rest) :]
            except BlockingIOError:
                select.select([], [self.fd], [])
            except OSError:
                self.is_broken = True
                return

    def isatty(self) -> bool:
        """Tell whether a person reads this."""
        return os.isatty(self.fd)
