"""Running a program of the user to its end; nothing it starts outlives it."""

from __future__ import annotations

import subprocess
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from ferrule_hookspecs.errors import FerruleError
from ferrule_processes.group import adopt_orphans, kill_group

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from anyio.abc import ByteReceiveStream, ByteSendStream, Process

_DRAIN_S: Final = 0.5


class StartError(FerruleError):
    """The program could not be started."""


class Program(NamedTuple):
    """What runs.

    Attributes:
        argv: Program and arguments.
        cwd: Where it runs.
        environ: Its whole environment.
        stdout_limit: Most bytes of its output that are kept.
        stderr_limit: Most bytes of its standard error that are kept.
        ends_at_limit: Whether it is killed when it writes more than that to its output.
    """

    argv: Sequence[str]
    cwd: str | os.PathLike[str]
    environ: Mapping[str, str]
    stdout_limit: int
    stderr_limit: int
    ends_at_limit: bool = False


class Finished(NamedTuple):
    """What a program left."""

    exit_code: int
    stdout: bytes
    stderr: bytes
    is_cut: bool


async def run_program(program: Program, given: bytes) -> Finished:
    """Run a program outside of the sandbox, away from the terminal, with bytes as its input.

    When it ends, or when this is cancelled, all that stayed in its group ends with it.

    Raises:
        StartError: It could not be started.
    """
    from anyio import CancelScope

    adopt_orphans()
    try:
        process = await _started(program)
    except (OSError, ValueError) as error:
        raise StartError(f"could not be started: {error}") from None
    try:
        return await _finished(process, program, given)
    finally:
        if process.returncode is None:
            kill_group(process)
        with CancelScope(shield=True):
            await process.aclose()


async def _started(program: Program) -> Process:
    from anyio import CancelScope, open_process

    with CancelScope(shield=True):  # a program that has been started must be found and ended
        return await open_process(
            program.argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=program.cwd,
            env=program.environ,
            start_new_session=True,
        )
    raise StartError("could not be started")


async def _finished(process: Process, program: Program, given: bytes) -> Finished:
    from anyio import create_task_group, current_time

    stdout, stderr = _Kept(program.stdout_limit), _Kept(program.stderr_limit)

    async def collect_output() -> None:
        await stdout.collect(process.stdout, to_end=not program.ends_at_limit)
        if stdout.is_cut and program.ends_at_limit:
            kill_group(process)

    async with create_task_group() as group:
        group.start_soon(_feed, process.stdin, given)
        group.start_soon(collect_output)
        group.start_soon(stderr.collect, process.stderr)
        await process.wait()
        kill_group(process)
        # What has left the group may still hold the pipes open.
        group.cancel_scope.deadline = current_time() + _DRAIN_S
    return Finished(process.returncode or 0, bytes(stdout.data), bytes(stderr.data), stdout.is_cut)


class _Kept:
    """The beginning of a stream."""

    def __init__(self, limit: int) -> None:
        self.data = bytearray()
        self.is_cut = False
        self._limit = limit

    async def collect(self, stream: ByteReceiveStream | None, to_end: bool = True) -> None:
        from anyio import ClosedResourceError

        if stream is None:
            return
        with suppress(ClosedResourceError):
            async for data in stream:
                room = self._limit - len(self.data)
                self.data += data[:room]
                self.is_cut = self.is_cut or len(data) > room
                if self.is_cut and not to_end:
                    return


async def _feed(stream: ByteSendStream | None, given: bytes) -> None:
    from anyio import BrokenResourceError, ClosedResourceError

    if stream is not None:
        with suppress(BrokenResourceError, ClosedResourceError):  # it need not read
            await stream.send(given)
        with suppress(BrokenResourceError):
            await stream.aclose()
