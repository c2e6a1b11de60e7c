"""The files that the program of a server on this machine is made of, as far as its table tells."""

from __future__ import annotations

import os
import shutil
import stat
from typing import TYPE_CHECKING, Final

from ferrule_mcp.server_environment import server_environment

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ferrule_mcp.server_settings import ServerSettings

_CODE: Final = (".py", ".pyz", ".js", ".mjs", ".cjs", ".ts", ".sh", ".rb", ".pl", ".jar", ".php")


def program_of(settings: ServerSettings, env: Mapping[str, str]) -> str | None:
    """Find the program; never in the working directory by a mere name."""
    if os.path.dirname(settings.command):
        return os.path.normpath(os.path.join(settings.cwd, os.path.expanduser(settings.command)))
    folders = [each for each in env.get("PATH", "").split(os.pathsep) if os.path.isabs(each)]
    return shutil.which(settings.command, path=os.pathsep.join(folders))


def program_stamp(settings: ServerSettings, environ: Mapping[str, str]) -> object:
    """Return what stands for the program, and for code among its arguments, as they are now.

    Other files may be what the server works on, and change all the time.
    """
    if not settings.command:
        return None
    found = program_of(settings, server_environment(settings, environ))
    code = [each for each in settings.args if each.endswith(_CODE)]
    files = [found or "", *(os.path.join(settings.cwd, each) for each in code)]
    return tuple(stamp for file in files if (stamp := _stamp(file)) is not None)


def _stamp(file: str) -> object:
    try:
        found = os.stat(file)
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(found.st_mode):
        return None
    return file, found.st_mtime_ns, found.st_size, found.st_ino
