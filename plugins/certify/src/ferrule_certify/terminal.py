"""Attempts on the terminal a command is given: typing into it, and what it is told of its size."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import termios
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from ferrule_certify.bench import SECONDS
from ferrule_certify.probe import Outcome

if TYPE_CHECKING:
    from ferrule_certify.bench import Bench

_TYPE: Final = "import fcntl; fcntl.ioctl(0, 0x5412, b'x'); print('REACHED')"
_SELECT: Final = """\
import errno, fcntl
try:
    fcntl.ioctl(0, 0x541C, b"\\6")
except OSError as error:
    if error.errno not in (errno.EINVAL, errno.ENOTTY):
        raise
print("REACHED")
"""
_SIZE: Final = "import os; print('SIZE', *os.get_terminal_size(0), os.isatty(1))"


def type_ahead(bench: Bench) -> Outcome:
    """Type into the terminal for whoever reads it next."""
    return _said(bench, _TYPE, "REACHED")


def selection(bench: Bench) -> Outcome:
    """Ask the terminal's driver for what only consoles do."""
    return _said(bench, _SELECT, "REACHED")


def size(bench: Bench) -> Outcome:
    """A command on a terminal knows it and its size."""
    return _said(bench, _SIZE, "SIZE 100 30 True")


def _said(bench: Bench, code: str, word: str) -> Outcome:
    text = _on_terminal(bench, [sys.executable, "-I", "-S", "-c", code])
    return Outcome(word in text, json.dumps(text[-160:]))


def _on_terminal(bench: Bench, argv: list[str]) -> str:
    """Run a command on a terminal of its own; returns what it wrote."""
    command = bench.command(argv)._replace(tty=True, size=(30, 100))
    launch = bench.target.launch(bench.stage, bench.policy, command)
    ours, theirs = os.openpty()
    try:
        termios.tcsetwinsize(theirs, (30, 100))
        process = subprocess.Popen(
            launch.argv,
            env=dict(launch.env),
            cwd=launch.cwd,
            pass_fds=launch.pass_fds,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            preexec_fn=None if launch.adopts_terminal else _adopt,  # as the kernel
        )
        if launch.started is not None:
            launch.started()
        return _read(ours, process)
    finally:
        os.close(ours)
        with suppress(OSError):
            os.close(theirs)
        if launch.cleanup is not None:
            launch.cleanup()


def _adopt() -> None:
    """Make the terminal the command's controlling one."""
    import fcntl

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def _read(terminal: int, process: subprocess.Popen[bytes]) -> str:
    text, end = b"", time.monotonic() + SECONDS
    while time.monotonic() < end:
        is_over = process.poll() is not None
        while select.select([terminal], [], [], 0.02)[0]:
            with suppress(OSError):
                text += os.read(terminal, 4096)
                continue
            break
        if is_over:
            break
    process.kill()
    process.wait()
    return text.decode("utf-8", "replace")
