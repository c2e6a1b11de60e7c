"""Walks over a folder through the sandbox, level by level, leaving out what git ignores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from ferrule_files.ignore import IgnoreFile, is_ignored, parse
from ferrule_hookspecs.errors import ToolError
from ferrule_hookspecs.tools import SandboxDeniedError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from ferrule_hookspecs.sandbox import DirectoryEntry, FileSystem

_MAX_RULES: Final = 1024 * 1024


class Found(NamedTuple):
    """A file or folder; `path` is relative to where the walk began, with slashes."""

    path: str
    kind: Literal["file", "directory", "symlink", "other"]


class _Folder(NamedTuple):
    path: str
    relative: str
    ignore: tuple[IgnoreFile, ...]


async def walk(
    files: FileSystem, root: str, *, depth: int | None = None
) -> AsyncGenerator[Found, None]:
    """Yield everything below a folder that git would not ignore; links are not followed.

    Args:
        files: The sandbox's files.
        root: Absolute path of the folder.
        depth: How many levels to look at; None for all.

    Raises:
        ToolError: The folder itself cannot be listed. Folders below it are then left out.
    """
    level = [_Folder(root.rstrip("/"), "", await _ignore_above(files, root))]
    entries = await _entries(files, root)
    while level:
        below: list[_Folder] = []
        for folder in level:
            if folder.relative:
                entries = await _entries_or_none(files, folder.path)
            ignore = folder.ignore + await _ignore_in(files, folder.path, entries)
            for entry in entries:
                path = f"{folder.path}/{entry.name}"
                is_folder = entry.kind == "directory"
                if entry.name == ".git" or is_ignored(ignore, path, is_folder=is_folder):
                    continue
                found = Found(folder.relative + entry.name, entry.kind)
                yield found
                if is_folder:
                    below.append(_Folder(path, f"{found.path}/", ignore))
        depth = None if depth is None else depth - 1
        level = [] if depth == 0 else below


async def _entries(files: FileSystem, path: str) -> list[DirectoryEntry]:
    try:
        return list(await files.list(path))
    except OSError as error:
        raise ToolError(f"{path} cannot be listed: {error.strerror}") from error


async def _entries_or_none(files: FileSystem, path: str) -> list[DirectoryEntry]:
    try:
        return list(await files.list(path))
    except (OSError, SandboxDeniedError):
        return []


async def _ignore_in(
    files: FileSystem, path: str, entries: list[DirectoryEntry]
) -> tuple[IgnoreFile, ...]:
    if any(entry.name == ".gitignore" and entry.kind == "file" for entry in entries):
        return await _ignore_file(files, path, f"{path}/.gitignore")
    return ()


async def _ignore_file(files: FileSystem, folder: str, path: str) -> tuple[IgnoreFile, ...]:
    try:
        return (
            parse(folder, (await files.read(path, limit=_MAX_RULES)).decode("utf-8", "replace")),
        )
    except (OSError, SandboxDeniedError):
        return ()


async def _ignore_above(files: FileSystem, root: str) -> tuple[IgnoreFile, ...]:
    """Rules between the top of the repository and the folder; none outside of a repository."""
    folders = _parents(root)
    for index, folder in enumerate(folders):
        if await files.stat(f"{folder}/.git") is not None:
            exclude = await _ignore_file(files, folder, f"{folder}/.git/info/exclude")
            above = [
                await _ignore_file(files, each, f"{each}/.gitignore")
                for each in reversed(folders[1 : index + 1])
            ]
            return sum(above, exclude)
    return ()


def _parents(path: str) -> list[str]:
    """The folder and all above it, without slashes at their ends."""
    parts = path.rstrip("/").split("/")
    return ["/".join(parts[:count]) for count in range(len(parts), 0, -1)]
