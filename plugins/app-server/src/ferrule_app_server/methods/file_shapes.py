"""Parameters and results of the methods about files."""

from __future__ import annotations

from typing import NotRequired

from typing_extensions import TypedDict


class PathParams(TypedDict):
    """An absolute path."""

    path: str


class ReadFileResult(TypedDict):
    """The content of a file."""

    dataBase64: str


class WriteFileParams(TypedDict):
    """The new content of a file."""

    path: str
    dataBase64: str


class CreateDirectoryParams(TypedDict):
    """A folder to make; `recursive` (the default) makes those above it, and lets one be there."""

    path: str
    recursive: NotRequired[bool | None]


class MetadataResult(TypedDict):
    """What a path is, links followed; times in Unix milliseconds, 0 where unknown."""

    isDirectory: bool
    isFile: bool
    isSymlink: bool
    createdAtMs: int
    modifiedAtMs: int


class DirectoryEntry(TypedDict):
    """A name in a folder."""

    fileName: str
    isDirectory: bool
    isFile: bool


class ReadDirectoryResult(TypedDict):
    """The names in a folder."""

    entries: list[DirectoryEntry]


class RemoveParams(TypedDict):
    """What to remove; folders with what is in them, and nothing where nothing is, by default."""

    path: str
    recursive: NotRequired[bool | None]
    force: NotRequired[bool | None]


class CopyParams(TypedDict):
    """What to copy where; folders need `recursive`."""

    sourcePath: str
    destinationPath: str
    recursive: NotRequired[bool | None]


class WatchParams(TypedDict):
    """A file or folder to watch."""

    path: str
    watchId: str


class WatchResult(TypedDict):
    """The path that is watched, links resolved."""

    path: str


class UnwatchParams(TypedDict):
    """A watch to end."""

    watchId: str


class ChangedParams(TypedDict):
    """What changed."""

    watchId: str
    changedPaths: list[str]


class Nothing(TypedDict):
    """Done."""
