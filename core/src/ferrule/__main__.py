"""The `ferrule` program. Imports next to nothing, so that `--version` costs next to nothing."""

from __future__ import annotations

import gc
import os
import sys

from ferrule import __version__

_VERSION_FLAGS = ("--version", "-V")


def main() -> int:
    """Run the command line of this process; returns the exit code."""
    argv = sys.argv[1:]
    if 0 < len(argv) <= 2 and argv[-1] in _VERSION_FLAGS:  # alone, or after a command's name
        sys.stdout.write(f"ferrule {__version__}\n")
        return 0
    # Importing makes many small objects that stay: looking through them again and again for
    # garbage costs 20 ms of a start. The host lets the collector in when the start is over.
    gc.disable()
    from ferrule.cli import run
    from ferrule.hardening import harden

    harden(os.environ)
    try:
        code = run(argv, os.environ)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader is gone: end like a program that SIGPIPE ends, without a word.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    return code


def program() -> None:
    """Run the command line and leave at once.

    By then every session, child and file is closed; taking the interpreter apart would only add
    50 ms. An error that nobody caught takes the ordinary way out.
    """
    code = main()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):  # whoever reads it has gone
        code = code or 141
    os._exit(code)


if __name__ == "__main__":
    program()
