"""Snapshots of a workspace in a repository of our own, and the diff between two of them.

git does the work, with an index and objects that lie in Ferrule's home: nothing is written to the
user's repository, and none of its configuration, hooks or filters is read or run. Commands in the
sandbox cannot write there either. The user's index is copied once, so that what has not changed
since is not read again.
"""

from __future__ import annotations

import os
import shutil
import threading
import time
import weakref
from typing import TYPE_CHECKING, Final, NamedTuple

from ferrule_turn_diff.diff_text import tidied
from ferrule_turn_diff.git import Git, GitError
from ferrule_turn_diff.storage import new_folder

if TYPE_CHECKING:
    from pathlib import Path

_MOST_FILES: Final = 20_000
_MOST_BYTES: Final = 64 * 1024 * 1024
_MOST_SECONDS: Final = 2.0
_CUT: Final = (
    "# The diff is cut: the workspace has too many or too large files that no repository tracks;"
    " they are left out.\n"
)


class Snapshot(NamedTuple):
    """How a workspace was.

    Attributes:
        tree: Name of the tree in our repository.
        is_whole: Whether every file is in it.
    """

    tree: str
    is_whole: bool


def root_of(cwd: str) -> str:
    """Return the root of the repository a folder lies in, or the folder itself."""
    folder = os.path.realpath(cwd)
    while not _is_repository(os.path.join(folder, ".git")):
        parent = os.path.dirname(folder)
        if parent == folder:
            return os.path.realpath(cwd)
        folder = parent
    return folder


def _is_repository(place: str) -> bool:
    """Whether it is a repository's folder, or the file that names one; not just a folder there."""
    return os.path.isfile(place) or os.path.isfile(os.path.join(place, "HEAD"))


class Workspace:
    """One folder, looked at again and again."""

    def __init__(self, home: Path, root: str) -> None:
        self._root = root
        self._home = home
        self._git: Git | None = None
        # Invariant of this lock: one git at a time uses the index.
        self._lock = threading.Lock()
        self._began = 0.0
        self._latest: Snapshot | None = None

    def snapshot(self) -> Snapshot | None:
        """Take a snapshot; one that began after this was asked for serves, too.

        None where git is missing or does not get along with the workspace.
        """
        asked = time.monotonic()
        with self._lock:
            if self._began < asked:
                self._began = time.monotonic()
                try:
                    self._latest = self._taken()
                except (GitError, OSError):
                    self._latest = None
            return self._latest

    def diff(self, before: Snapshot, after: Snapshot) -> str | None:
        """Return a unified diff; None where git does not get along with it."""
        text = b""
        if before.tree != after.tree:
            if self._git is None:
                return None
            try:
                text = self._git.diff(before.tree, after.tree)
            except (GitError, OSError):
                return None
        told = tidied(text)
        return told if (before.is_whole and after.is_whole) or not told else _CUT + told

    def _taken(self) -> Snapshot:
        if self._git is None:
            folder = new_folder(self._home)
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
            self._git = Git.create(folder, self._root)
        git = self._git
        is_whole = self._is_small(git.untracked())
        git.add(everything=is_whole)
        return Snapshot(git.tree(), is_whole)

    def _is_small(self, names: list[bytes]) -> bool:
        """Whether the files that are not in our index yet may be read."""
        if len(names) > _MOST_FILES:
            return False
        deadline = time.monotonic() + _MOST_SECONDS
        size, root = 0, os.fsencode(self._root)
        for name in names:
            try:
                size += os.lstat(os.path.join(root, name)).st_size
            except OSError:
                continue
            if size > _MOST_BYTES or time.monotonic() > deadline:
                return False
        return True
