"""The pseudo-terminal of a command; used by the process owner."""

from __future__ import annotations

import os
import struct
from typing import Final

ROWS: Final = 24
COLUMNS: Final = 80
# A session leader without a terminal gets the first one it opens. Letting a shell do that keeps
# code of ours out of the forked child, so that it can be started with vfork.
_ADOPT: Final = 'exec "$@" <>"$0" >&0 2>&0'


def open_terminal() -> tuple[int, int]:
    """Open a terminal of 24 rows and 80 columns; returns our side and the command's side."""
    import fcntl
    import pty
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    return ours, theirs


def adopting_argv(argv: tuple[str, ...], terminal: int) -> tuple[str, ...]:
    """Wrap a command so that the terminal controls it."""
    return ("/bin/sh", "-c", _ADOPT, os.ttyname(terminal), *argv)
