"""Runs a hook that is a command; nothing it starts outlives it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from ferrule_hooks.answers import AnswerError, Raw

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ferrule_hooks.handler import Handler

_OUTPUT_LIMIT: Final = 1024 * 1024


async def run_command(
    handler: Handler, payload: bytes, *, cwd: str, environ: Mapping[str, str]
) -> Raw:
    """Run a command of the user outside of the sandbox, away from the terminal.

    Raises:
        AnswerError: It could not be started.
    """
    from ferrule_processes.program import Program, StartError, run_program

    program = Program(_argv(handler), cwd, environ, _OUTPUT_LIMIT, _OUTPUT_LIMIT)
    try:
        finished = await run_program(program, payload)
    except StartError as error:
        raise AnswerError(str(error)) from None
    return Raw(
        finished.exit_code,
        finished.stdout.decode("utf-8", "replace"),
        finished.stderr.decode("utf-8", "replace"),
    )


def _argv(handler: Handler) -> Sequence[str]:
    if handler.args is not None:
        return [handler.target, *handler.args]
    if os.name == "posix":
        return ["/bin/sh", "-c", handler.target]
    return [os.environ.get("COMSPEC", "cmd.exe"), "/d", "/c", handler.target]
