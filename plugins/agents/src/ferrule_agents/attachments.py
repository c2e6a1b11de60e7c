"""Files that a task brings along, read as the session's own tools may read them.

A thread reads the files that a user names without a sandbox. The task of an agent is written by a
model, so its files are put into the task here.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from ferrule_hookspecs.errors import ToolError
from ferrule_hookspecs.tools import SandboxDeniedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ferrule_hookspecs.items import UserInput
    from ferrule_hookspecs.sandbox import FileSystem

FILES: Final = ("localImage", "skill")
_IMAGE_BYTES: Final = 20 * 1024 * 1024
_SKILL_BYTES: Final = 256 * 1024


async def attached(content: Sequence[UserInput], files: FileSystem, cwd: str) -> list[UserInput]:
    """Return a task with its files in it; relative paths are those of the session.

    Raises:
        ToolError: A file is out of the session's reach, or cannot be read.
    """
    return [await _attached(part, files, cwd) for part in content]


async def _attached(part: UserInput, files: FileSystem, cwd: str) -> UserInput:
    if part["type"] == "localImage":
        from base64 import b64encode
        from mimetypes import guess_type

        data = await _read(part["path"], files, cwd, _IMAGE_BYTES)
        kind = guess_type(part["path"])[0] or "image/png"
        return {"type": "image", "url": f"data:{kind};base64,{b64encode(data).decode('ascii')}"}
    if part["type"] == "skill":
        name, path = part["name"], part["path"]
        text = (await _read(path, files, cwd, _SKILL_BYTES)).decode(errors="replace")
        shown = f"<skill>\n<name>{name}</name>\n<path>{path}</path>\n{text}\n</skill>"
        return {"type": "text", "text": shown}
    return part


async def _read(path: str, files: FileSystem, cwd: str, most: int) -> bytes:
    place = _absolute(path, cwd)
    try:
        data = await files.read(place, limit=most + 1)
    except SandboxDeniedError as error:
        raise ToolError(f"{place} cannot be given to an agent: {error}") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise ToolError(f"{place} cannot be read: {reason}") from None
    if len(data) > most:
        raise ToolError(f"{place} cannot be given to an agent: it is larger than {most} bytes")
    return data


def _absolute(path: str, cwd: str) -> str:
    return os.path.normpath(os.path.join(cwd, path))
