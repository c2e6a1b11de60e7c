"""The files that the program of a server on this machine is made of, as far as its table tells."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ferrule_mcp.server_settings import ServerSettings

_CODE: Final = (".py", ".pyz", ".js", ".mjs", ".cjs", ".ts", ".sh", ".rb", ".pl", ".jar", ".php")


def program_stamp(settings: ServerSettings, environ: Mapping[str, str]) -> object:
    """Return what stands for the program, and for code among its arguments, as they are now.

    Other files may be what the server works on, and change all the time.
    """
    if not settings.command:
        return None
    path = settings.env.get("PATH") or environ.get("PATH")
    command = os.path.join(settings.cwd, settings.command)
    found = command if os.path.isfile(command) else shutil.which(settings.command, path=path)
    code = [each for each in settings.args if each.endswith(_CODE)]
    files = [found or "", *(os.path.join(settings.cwd, each) for each in code)]
    return tuple(stamp for file in files if (stamp := _stamp(file)) is not None)


def _stamp(file: str) -> object:
    try:
        status = os.stat(file)
    except (OSError, ValueError):
        return None
    is_file = os.path.isfile(file)
    return (file, status.st_mtime_ns, status.st_size, status.st_ino) if is_file else None
