"""Runs a hook that is a command; nothing it starts outlives it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Final

from ferrule_hooks.answers import AnswerError, Raw

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anyio.abc import ByteReceiveStream, ByteSendStream, Process

    from ferrule_hooks.handler import Handler

_OUTPUT_LIMIT: Final = 1024 * 1024
_DRAIN_S: Final = 0.5
_PR_SET_CHILD_SUBREAPER: Final = 36


async def run_command(
    handler: Handler, payload: bytes, *, cwd: str, environ: Mapping[str, str]
) -> Raw:
    """Run a command of the user outside of the sandbox, away from the terminal.

    Raises:
        AnswerError: It could not be started.
    """
    from anyio import CancelScope, create_task_group, current_time, open_process

    _adopt_orphans()
    try:
        process = await open_process(
            _argv(handler),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd,
            env=environ,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise AnswerError(f"could not be started: {error}") from None
    stdout, stderr = bytearray(), bytearray()
    try:
        async with create_task_group() as group:
            group.start_soon(_feed, process.stdin, payload)
            group.start_soon(_collect, process.stdout, stdout)
            group.start_soon(_collect, process.stderr, stderr)
            await process.wait()
            _kill_group(process)
            # What has left the group may still hold the pipes open.
            group.cancel_scope.deadline = current_time() + _DRAIN_S
    finally:
        if process.returncode is None:
            _kill_group(process)
        with CancelScope(shield=True):
            await process.aclose()
    code = process.returncode or 0
    return Raw(code, stdout.decode("utf-8", "replace"), stderr.decode("utf-8", "replace"))


def _argv(handler: Handler) -> Sequence[str]:
    if handler.args is not None:
        return [handler.target, *handler.args]
    if os.name == "posix":
        return ["/bin/sh", "-c", handler.target]
    return [os.environ.get("COMSPEC", "cmd.exe"), "/d", "/c", handler.target]


async def _feed(stream: ByteSendStream | None, payload: bytes) -> None:
    from anyio import BrokenResourceError, ClosedResourceError

    if stream is not None:
        with suppress(BrokenResourceError, ClosedResourceError):  # it need not read
            await stream.send(payload)
        with suppress(BrokenResourceError):
            await stream.aclose()


async def _collect(stream: ByteReceiveStream | None, into: bytearray) -> None:
    from anyio import ClosedResourceError

    if stream is None:
        return
    with suppress(ClosedResourceError):
        async for data in stream:
            into += data[: _OUTPUT_LIMIT - len(into)]


def _kill_group(process: Process) -> None:
    """Kill the command and what stayed in its group, whose id is taken while anything is in it."""
    if os.name == "posix":
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    elif process.returncode is None:
        process.kill()


@cache
def _adopt_orphans() -> None:
    """Have what leaves its group come back to this process, which ends it with the session."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
