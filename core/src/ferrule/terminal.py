"""The pseudo-terminal of a command; used by the process owner."""

from __future__ import annotations

import os
import struct
from typing import Final

# A session leader without a terminal gets the first one it opens. Letting a shell do that keeps
# code of ours out of the forked child, so that it can be started with vfork.
_ADOPT: Final = 'exec "$@" <>"$0" >&0 2>&0'


def open_terminal(rows: int, columns: int) -> tuple[int, int]:
    """Open a terminal; returns our side and the command's side."""
    import pty

    ours, theirs = pty.openpty()
    set_size(theirs, rows, columns)
    return ours, theirs


def set_size(terminal: int, rows: int, columns: int) -> None:
    """Tell a terminal, and whoever runs in it, how large it is."""
    import fcntl
    import termios

    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def adopting_argv(argv: tuple[str, ...], terminal: int) -> tuple[str, ...]:
    """Wrap a command so that the terminal controls it."""
    return ("/bin/sh", "-c", _ADOPT, os.ttyname(terminal), *argv)
