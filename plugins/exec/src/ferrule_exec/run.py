"""Runs a parsed command line on a kernel and turns the end into an exit code."""

from __future__ import annotations

import os
import sys
from contextlib import redirect_stdout, suppress
from typing import TYPE_CHECKING, Final

from ferrule_exec.errors import ExecError
from ferrule_exec.job import Job, prepare
from ferrule_exec.stream import Stream
from ferrule_hookspecs.errors import FerruleError, InterruptedByUserError, ThreadNotFoundError

if TYPE_CHECKING:
    from ferrule_exec.arguments import Arguments
    from ferrule_exec.outcome import Outcome, Output
    from ferrule_hookspecs.host import Host, Kernel, Session

_FAILED: Final = 1
_BROKEN_PIPE: Final = 141
_CLOSE_S: Final = 10.0
_MOST_NAMES: Final = 1000
"""How many threads are looked through for a name like the one that does not exist."""
_UNCONFINED: Final = {
    "dangerFullAccess": "NO SANDBOX: commands run with all your rights; nothing is confined",
    "externalSandbox": "NO SANDBOX of ours: you said that something outside confines commands",
}
_OVERLAY: Final = "overlay: your files stay as they are until you say: ferrule changes apply {}\n"


def run(arguments: Arguments, host: Host) -> int:
    """Run to the end; errors are one sentence on stderr."""
    stdout, stderr = Stream(1), Stream(2)
    try:
        job = prepare(arguments, host, stderr)
        output = _output(job, host, stdout, stderr)

        async def main(kernel: Kernel) -> int:
            return await _converse(kernel, job, output, stdout, stderr)

        with redirect_stdout(sys.stderr):  # what a plugin prints is no part of the answer
            code = host.run(main)
    except (InterruptedByUserError, KeyboardInterrupt):
        return _FAILED
    except ExecError as error:
        stderr.write(f"{error}\n")
        return _FAILED
    except FerruleError as error:
        stderr.write(f"Error: {error}\n")
        return _FAILED
    return _BROKEN_PIPE if stdout.is_broken else code


def _output(job: Job, host: Host, stdout: Stream, stderr: Stream) -> Output:
    if job.arguments.json:
        from ferrule_exec.jsonl import JsonOutput

        return JsonOutput(stdout)
    from ferrule_exec.human import HumanOutput, wants_color

    has_color = wants_color(job.arguments.color, stderr, host.environ)
    return HumanOutput(stdout, stderr, version=host.version, has_color=has_color)


async def _converse(
    kernel: Kernel, job: Job, output: Output, stdout: Stream, stderr: Stream
) -> int:
    import anyio

    from ferrule_exec.conversation import Conversation

    session = await _open(kernel, job)
    is_empty = False
    try:
        if words := _UNCONFINED.get(session.facts.sandbox_policy["type"]):
            stderr.write(f"warning: {words}\n")
        if job.options.config.values.get("overlay") is True:
            stderr.write(_OVERLAY.format(session.thread["id"]))
        output.opened(session, job.prompt)
        if job.prompt is None and job.review is None:
            return 0
        conversation = Conversation(
            session, output, stdout, schema=job.schema, max_wait_s=job.arguments.max_wait_s
        )
        try:
            outcome = await conversation.run(job.input, job.review)
        finally:
            is_empty = job.review is not None and not conversation.has_begun
        return _finish(outcome, job.arguments.output_file, stderr)
    finally:
        with anyio.move_on_after(_CLOSE_S, shield=True):
            await session.close()
        if is_empty and not job.arguments.ephemeral:  # else it would be the last thread to resume
            with suppress(FerruleError):
                kernel.threads.store.delete(session.thread["id"])


async def _open(kernel: Kernel, job: Job) -> Session:
    arguments = job.arguments
    if arguments.action in ("start", "review"):
        return await kernel.threads.start(job.options)
    thread_id = _thread_id(kernel, arguments)
    if arguments.action == "fork":
        return await kernel.threads.fork(thread_id, job.options)
    return await kernel.threads.resume(thread_id, job.options)


def _thread_id(kernel: Kernel, arguments: Arguments) -> str:
    from ferrule_hookspecs.store import ThreadFilter

    if arguments.target is not None:
        found = kernel.threads.store.find(arguments.target)
        if found is None:
            raise ThreadNotFoundError(
                f"no stored thread has the id or name {arguments.target!r};"
                f" {_what_to_do(kernel, arguments.target)}"
            )
        return found.thread_id
    cwd = None if arguments.everywhere else arguments.cwd
    newest = kernel.threads.store.list(ThreadFilter(cwd=cwd, limit=1))
    if not newest:
        where = "" if cwd is None else f" for {cwd}; --all looks in every folder"
        raise ThreadNotFoundError(f"no thread is stored{where}")
    return newest[0].thread_id


def _what_to_do(kernel: Kernel, target: str) -> str:
    from difflib import get_close_matches

    from ferrule_hookspecs.store import ThreadFilter

    stored = kernel.threads.store.list(ThreadFilter(limit=_MOST_NAMES))
    names = [thread.name for thread in stored if thread.name]
    near = get_close_matches(target, names, n=1)
    guess = f"did you mean {near[0]!r}? " if near else ""
    return f"{guess}`ferrule threads list --all` shows those there are"


def _finish(outcome: Outcome, output_file: str | None, stderr: Stream) -> int:
    if outcome.status != "completed":
        return _FAILED
    if output_file is None:
        return 0
    if outcome.last_message is None:
        stderr.write(f"Warning: no last agent message; wrote empty content to {output_file}\n")
    try:
        with open(os.fspath(output_file), "w", encoding="utf-8", errors="replace") as file:
            file.write(outcome.last_message or "")
    except OSError as error:
        raise ExecError(
            f"Error: the last message cannot be written to {output_file!r}: {error.strerror}"
        ) from error
    return 0
