"""Finds the program of a command, as a shell on Windows does, but never first in its folder.

Windows itself would look beside the launcher and in this process's PATH.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from ferrule_sandbox_windows.environment import variable

if TYPE_CHECKING:
    from ferrule_hookspecs.sandbox import Command

_ENDINGS: Final = ".COM;.EXE;.BAT;.CMD"


def find_program(command: Command) -> str | None:
    """Return the absolute path of a command's program; None where there is none."""
    if not command.argv or not command.argv[0]:
        return None
    name = command.argv[0]
    listed = variable(command.env, "PATHEXT") or _ENDINGS
    endings = [ending for ending in listed.split(";") if ending]
    folders = (variable(command.env, "PATH") or "").split(os.pathsep)
    for folder in [""] if os.path.dirname(name) else filter(None, folders):
        path = os.path.join(command.cwd, folder, name)
        if found := _with_ending(path, endings):
            return found
    return None


def _with_ending(path: str, endings: list[str]) -> str | None:
    """A name with an ending is taken as it is first; one without is no program by itself."""
    candidates = [path + ending for ending in endings]
    if os.path.splitext(path)[1]:
        candidates.insert(0, path)
    return next((each for each in candidates if os.path.isfile(each)), None)
