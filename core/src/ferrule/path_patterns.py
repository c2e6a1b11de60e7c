"""What exists of paths and glob patterns. Called where unreadable places are worked out.

A pattern costs a search, so both what it finds and where it looks are bounded, and a bound that is
reached is an error: what was not found would be readable.
"""

from __future__ import annotations

import fnmatch
import os
import posixpath
from typing import TYPE_CHECKING, Final

from ferrule.folder_listing import Listing, list_folder
from ferrule_hookspecs.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MATCH_LIMIT: Final = 8192
FOLDER_LIMIT: Final = 50_000
_SIGNS: Final = frozenset("*?[")


def matching_paths(
    patterns: Sequence[str], cwd: str, *, max_depth: int | None = None
) -> tuple[str, ...]:
    """Return what exists of paths and glob patterns, canonical.

    Args:
        patterns: Absolute, relative to `cwd`, or beginning with `~`. `**` stands for any number of
            folders, none included; links to folders are not followed by it.
        cwd: The working directory.
        max_depth: How many folders deep `**` reaches; None for all.

    Raises:
        ConfigError: So much matches, or is to be searched, that it cannot be done for a command.
    """
    found: dict[str, None] = {}
    for pattern in patterns:
        absolute = os.path.join(cwd, os.path.expanduser(pattern))
        for path in _Search(pattern, max_depth).find(absolute):
            found[os.path.realpath(path)] = None
            if len(found) > MATCH_LIMIT:
                raise ConfigError(
                    f"the unreadable pattern {pattern!r} matches more than {MATCH_LIMIT} paths; "
                    "name the folder that holds them"
                )
    return tuple(found)


class _Search:
    """The search for one pattern."""

    def __init__(self, pattern: str, max_depth: int | None) -> None:
        self._pattern = pattern
        self._max_depth = max_depth
        self._folders = 0
        self._last = "", Listing()

    def find(self, absolute: str) -> Iterator[str]:
        parts = [part for part in absolute.split("/") if part and part != "."]
        fixed = next((at for at, part in enumerate(parts) if _SIGNS & set(part)), len(parts))
        if fixed < len(parts) and os.path.lexists(absolute):
            yield absolute  # a name may hold such signs itself
        start = "/" + "/".join(parts[:fixed])
        if os.path.lexists(start):
            yield from self._below(start, parts[fixed:], 0)

    def _below(self, folder: str, parts: list[str], depth: int) -> Iterator[str]:
        if not parts:
            yield folder
            return
        head, rest = parts[0], parts[1:]
        if head == "**":
            yield from self._below(folder, rest, depth)
            if self._max_depth is None or depth < self._max_depth:
                for name in self._names(folder, only_folders=True):
                    yield from self._below(posixpath.join(folder, name), parts, depth + 1)
            return
        if not _SIGNS & set(head):
            path = posixpath.join(folder, head)
            if os.path.lexists(path):
                yield from self._below(path, rest, depth)
            return
        for name in fnmatch.filter(self._names(folder, only_folders=False), head):
            yield from self._below(posixpath.join(folder, name), rest, depth)

    def _names(self, folder: str, *, only_folders: bool) -> tuple[str, ...]:
        if folder != self._last[0]:
            self._folders += 1
            self._last = folder, list_folder(folder)
        if self._folders > FOLDER_LIMIT:
            raise ConfigError(
                f"the unreadable pattern {self._pattern!r} would have to be searched for in more "
                f"than {FOLDER_LIMIT} folders; begin it with the folder that is meant, or set "
                "`glob_scan_max_depth` in the permission profile"
            )
        listing = self._last[1]
        return listing.folders if only_folders else (*listing.folders, *listing.others)
