"""Runs a program that a check needs, and leaves nothing of it behind."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Ended(NamedTuple):
    """How a program ended, and what it wrote."""

    code: int
    output: str
    errors: str


def run_program(
    argv: Sequence[str], *, environ: Mapping[str, str], limit_s: float, cwd: str | None = None
) -> Ended:
    """Run a program to its end; whatever it started ends with it.

    Args:
        argv: The program and its arguments.
        environ: Its environment.
        limit_s: How long it may take, in seconds.
        cwd: Where it runs.

    Raises:
        OSError: It cannot be started.
        TimeoutError: It took too long, and was killed.
    """
    with subprocess.Popen(
        argv,
        cwd=cwd,
        env=dict(environ),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        try:
            output, errors = process.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            raise TimeoutError(f"it did not end within {limit_s:g} s") from None
        finally:
            _end(process)
    return Ended(process.returncode, _text(output), _text(errors))


def _end(process: subprocess.Popen[bytes]) -> None:
    if not hasattr(os, "killpg"):
        process.kill()
        return
    with suppress(ProcessLookupError, PermissionError):  # nothing is left of its group
        os.killpg(process.pid, signal.SIGKILL)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
