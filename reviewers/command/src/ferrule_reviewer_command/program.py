"""Runs a reviewer program outside of the sandbox; nothing it starts outlives it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Final

from ferrule_reviewer_command.answer import LIMIT, AnswerError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anyio.abc import ByteReceiveStream, ByteSendStream, Process

    from ferrule_hookspecs.plugins import PluginContext
    from ferrule_reviewer_command.settings import Settings

_HARMLESS: Final = (
    "HOME",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "LOGNAME",
    "PATH",
    "SYSTEMROOT",
    "TEMP",
    "TMP",
    "TMPDIR",
    "TZ",
    "USER",
    "USERPROFILE",
)
_STDERR_LIMIT: Final = 4096
_DRAIN_S: Final = 0.5
_PR_SET_CHILD_SUBREAPER: Final = 36


async def run(settings: Settings, payload: bytes, context: PluginContext) -> bytes:
    """Run the program and return what it wrote.

    It runs in the home folder and not where the model works, so that nothing that lies there can
    take part in the decision.

    Raises:
        AnswerError: It could not be started, failed, or wrote too much.
    """
    from anyio import CancelScope, open_process

    _adopt_orphans()
    try:
        process = await open_process(
            settings.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=context.home,
            env=clean_environment(context.environ, settings.env),
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise AnswerError(f"could not be started: {error}") from None
    try:
        return await _answer_of(process, payload)
    finally:
        if process.returncode is None:
            _kill_group(process)
        with CancelScope(shield=True):
            await process.aclose()


async def _answer_of(process: Process, payload: bytes) -> bytes:
    from anyio import create_task_group, current_time

    stdout, stderr = bytearray(), bytearray()

    async def collect_answer() -> None:
        await _collect(process.stdout, stdout, LIMIT + 1)
        if len(stdout) > LIMIT:
            _kill_group(process)

    async with create_task_group() as group:
        group.start_soon(_feed, process.stdin, payload)
        group.start_soon(collect_answer)
        group.start_soon(_collect, process.stderr, stderr, _STDERR_LIMIT)
        await process.wait()
        _kill_group(process)
        # What has left the group may still hold the pipes open.
        group.cancel_scope.deadline = current_time() + _DRAIN_S
    if len(stdout) > LIMIT:
        raise AnswerError(f"answered more than {LIMIT} bytes")
    if process.returncode != 0:
        raise AnswerError(f"ended with exit code {process.returncode}{_last_line(stderr)}")
    return bytes(stdout)


def clean_environment(environ: Mapping[str, str], allowed: tuple[str, ...]) -> dict[str, str]:
    """Keep what every program needs and what is allowed; programs are found on absolute paths."""
    kept = {name: environ[name] for name in (*_HARMLESS, *allowed) if name in environ}
    path = kept.get("PATH", os.defpath)
    kept["PATH"] = os.pathsep.join(
        folder for folder in path.split(os.pathsep) if os.path.isabs(folder)
    )
    return kept


async def _feed(stream: ByteSendStream | None, payload: bytes) -> None:
    from anyio import BrokenResourceError, ClosedResourceError

    if stream is not None:
        with suppress(BrokenResourceError, ClosedResourceError):  # it need not read
            await stream.send(payload)
        with suppress(BrokenResourceError):
            await stream.aclose()


async def _collect(stream: ByteReceiveStream | None, into: bytearray, limit: int) -> None:
    """Read to the end, or until there is too much where that is an answer's limit."""
    from anyio import ClosedResourceError

    if stream is None:
        return
    with suppress(ClosedResourceError):
        async for data in stream:
            into += data[: limit - len(into)]
            if len(into) > LIMIT:
                return


def _last_line(stderr: bytearray) -> str:
    lines = stderr.decode("utf-8", "replace").strip().splitlines()
    return f": {lines[-1][:300]}" if lines else ""


def _kill_group(process: Process) -> None:
    """Kill the program and what stayed in its group, whose id is taken while anything is in it."""
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
