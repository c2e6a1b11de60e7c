"""The check that `ferrule doctor` shows of the file tools: which program searches."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING, Final

from ferrule_hookspecs.hooks import Check

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ferrule_hookspecs.plugins import PluginContext

MEANINGS: Final[dict[str, str]] = {
    "search.ripgrep": "Whether ripgrep is there for `grep_files`; grep serves without it.",
}
_ID: Final = "search.ripgrep"
_INSTALL: Final = "install ripgrep, as in `apt install ripgrep`"
_LIMIT_S: Final = 5.0


def checks(context: PluginContext) -> Sequence[Check]:
    """Look for ripgrep, and for grep, which stands in for it."""
    path = context.environ.get("PATH", "")
    program = _find("rg", path, context.cwd)
    if program is None:
        grep = _find("grep", path, context.cwd)
        if grep is None:
            text = "neither ripgrep nor grep is on PATH: grep_files cannot search"
            return [Check(_ID, "fail", text, _INSTALL)]
        text = f"ripgrep is not on PATH: grep_files uses {grep}, which is slower"
        return [Check(_ID, "warn", text, _INSTALL)]
    try:
        ended = subprocess.run(
            [program, "--version"],
            env={},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_LIMIT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return [Check(_ID, "warn", f"{program} does not run: {error}", _INSTALL)]
    if ended.returncode:
        text = f"{program} does not run: it ends with exit code {ended.returncode}"
        return [Check(_ID, "warn", text, _INSTALL)]
    version = ended.stdout.decode("utf-8", "replace").partition("\n")[0]
    return [Check(_ID, "ok", f"{version} at {program}")]


def _find(name: str, path: str, workspace: str) -> str | None:
    """Find a program where the workspace could not have put it: it is about to be run."""
    inside = os.path.realpath(workspace).rstrip("/") + "/"
    for folder in filter(os.path.isabs, path.split(os.pathsep)):
        program = os.path.join(folder, name)
        if os.access(program, os.X_OK) and not os.path.realpath(program).startswith(inside):
            return program
    return None
