"""Runs a reviewer program outside of the sandbox; nothing it starts outlives it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from ferrule_reviewer_command.answer import LIMIT, AnswerError

if TYPE_CHECKING:
    from collections.abc import Mapping

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


async def run(settings: Settings, payload: bytes, context: PluginContext) -> bytes:
    """Run the program and return what it wrote.

    It runs in the home folder and not where the model works, so that nothing that lies there can
    take part in the decision.

    Raises:
        AnswerError: It could not be started, failed, or wrote too much.
    """
    from ferrule_processes.program import Program, StartError, run_program

    program = Program(
        settings.command,
        context.home,
        clean_environment(context.environ, settings.env),
        stdout_limit=LIMIT,
        stderr_limit=_STDERR_LIMIT,
        ends_at_limit=True,
    )
    try:
        finished = await run_program(program, payload)
    except StartError as error:
        raise AnswerError(str(error)) from None
    if finished.is_cut:
        raise AnswerError(f"answered more than {LIMIT} bytes")
    if finished.exit_code != 0:
        raise AnswerError(f"ended with exit code {finished.exit_code}{_last_line(finished.stderr)}")
    return finished.stdout


def clean_environment(environ: Mapping[str, str], allowed: tuple[str, ...]) -> dict[str, str]:
    """Keep what every program needs and what is allowed; programs are found on absolute paths."""
    kept = {name: environ[name] for name in (*_HARMLESS, *allowed) if name in environ}
    path = kept.get("PATH", os.defpath)
    kept["PATH"] = os.pathsep.join(
        folder for folder in path.split(os.pathsep) if os.path.isabs(folder)
    )
    return kept


def _last_line(stderr: bytes) -> str:
    lines = stderr.decode("utf-8", "replace").strip().splitlines()
    return f": {lines[-1][:300]}" if lines else ""
