"""Finds the program of a command before it is launched.

A shell answers 127 for a program that is missing and 126 for one that cannot be run, and says it.
What starts commands in a sandbox cannot say that as well, so they are told apart here.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Final, NamedTuple

from ferrule_confinement.program_places import is_shown

if TYPE_CHECKING:
    from ferrule_hookspecs.sandbox import Command, ResolvedPolicy

_DEFAULT_PATH: Final = "/bin:/usr/bin"
_UNREACHABLE: Final = "a folder on the way may not be entered"
_SCRIPT: Final = 'printf "%s: %s\\n" "$1" "$2" >&2; exit "$3"'


class Program(NamedTuple):
    """What to start for a command.

    Attributes:
        path: The program, as the kernel finds it from the command's working directory.
        failure: What to launch instead when it cannot be run.
    """

    path: str
    failure: list[str] | None = None


def find_program(policy: ResolvedPolicy, command: Command) -> Program:
    """Find the program of a command as a shell does."""
    argv = command.argv
    if not argv or not argv[0]:
        return Program("", _failing("", "no command given", 127))
    name = argv[0]
    if "/" in name:
        return Program(name, _judge(policy, os.path.join(command.cwd, name), name))
    refused: list[str] | None = None
    for folder in command.env.get("PATH", _DEFAULT_PATH).split(":"):
        path = os.path.join(command.cwd, folder, name)
        failure = _judge(policy, path, name)
        if failure is None:
            return Program(path)
        if failure[-1] == "126" and failure[-2] != _UNREACHABLE:
            refused = failure
    return Program("", refused or _failing(name, "command not found", 127))


def _judge(policy: ResolvedPolicy, path: str, name: str) -> list[str] | None:
    try:
        mode = os.stat(path).st_mode
    except PermissionError:
        return _failing(name, _UNREACHABLE, 126)
    except OSError:
        return _failing(name, "no such file or directory", 127)
    if stat.S_ISDIR(mode):
        return _failing(name, "is a directory", 126)
    if not os.access(path, os.X_OK):
        return _failing(name, "permission denied", 126)
    if not is_shown(policy, os.path.realpath(path)):
        return _failing(name, "it lies outside of the readable folders", 126)
    return None


def _failing(name: str, reason: str, code: int) -> list[str]:
    """The script is constant and the name only an argument, so it needs no sandbox."""
    return ["/bin/sh", "-c", _SCRIPT, "sh", name, reason, str(code)]
