"""git with a repository of our own beside a workspace; deaf to every configuration but ours."""

from __future__ import annotations

import os
import shutil
import subprocess
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_SECONDS: Final = 4.0
_MOST_OUTPUT: Final = 64 * 1024 * 1024
_SETTINGS: Final = (
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.untrackedCache=false",
    "core.quotePath=false",
    "core.safecrlf=false",
    "advice.addEmbeddedRepo=false",
    "gc.auto=0",
)


class GitError(Exception):
    """git is missing, failed or took too long."""


class Git:
    """Runs git in one repository."""

    def __init__(self, folder: str, root: str, objects: str | None) -> None:
        self._root = root
        # Only for reading: git would touch the user's objects where ours are the same.
        self._objects = {} if objects is None else {"GIT_ALTERNATE_OBJECT_DIRECTORIES": objects}
        self._environ = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": folder,
            "LC_ALL": "C",
            "GIT_DIR": os.path.join(folder, "git"),
            "GIT_WORK_TREE": root,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_NO_LAZY_FETCH": "1",
        }

    @classmethod
    def create(cls, folder: str, root: str) -> Git:
        """Make the repository; it begins with what the user's own one tracks."""
        theirs = _git_folder(root)
        made = cls(folder, root, None if theirs is None else _objects(theirs))
        made._run("init", "-q", "--template=")
        if theirs is not None and not made._borrow(os.path.join(theirs, "index")):
            made = cls(folder, root, None)
        return made

    def untracked(self) -> list[bytes]:
        """List the files that are not in our index yet, but would be."""
        found = self._run("ls-files", "-z", "--others", "--exclude-standard")
        return [name for name in found.split(b"\0") if name]

    def add(self, *, everything: bool) -> None:
        """Bring our index up to date: with all files, or with those it knows."""
        # What cannot be read is left as it was: the exit code then is 1.
        self._run("add", "-A" if everything else "-u", "--ignore-errors", ".", codes=(0, 1))

    def tree(self) -> str:
        """Name what is in the index."""
        return self._run("write-tree", "--missing-ok").decode().strip()

    def diff(self, before: str, after: str) -> bytes:
        """Compare two trees."""
        options = ("-r", "-p", "--full-index", "--no-ext-diff", "--no-textconv", "--no-color")
        return self._run("diff-tree", *options, before, after, environ=self._objects)

    def _borrow(self, index: str) -> bool:
        """Begin with the user's index; what it says of files spares reading them."""
        ours = os.path.join(self._environ["GIT_DIR"], "index")
        try:
            shutil.copy2(index, ours)  # with its time, by which git knows what changed since
            self._run("ls-files", "-z", "--stage", "--", ":(top,literal)/nothing")
        except FileNotFoundError:
            return True
        except (GitError, OSError):  # split over several files, or of another kind of repository
            if os.path.lexists(ours):
                os.unlink(ours)
            return False
        return True

    def _run(
        self,
        *arguments: str,
        codes: Sequence[int] = (0,),
        environ: Mapping[str, str] = MappingProxyType({}),
    ) -> bytes:
        settings = [word for setting in _SETTINGS for word in ("-c", setting)]
        try:
            done = subprocess.run(
                ["git", *settings, *arguments],
                cwd=self._root,
                env={**self._environ, **environ},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_SECONDS,
                check=False,
            )
        except FileNotFoundError as error:
            raise GitError(f"git is not installed: {error}") from error
        except subprocess.TimeoutExpired as error:
            raise GitError(f"git took too long: {error}") from error
        if done.returncode not in codes or len(done.stdout) > _MOST_OUTPUT:
            raise GitError(done.stderr.decode(errors="replace"))
        return done.stdout


def _git_folder(root: str) -> str | None:
    """Find the folder behind `.git`, which in a linked working tree is a file."""
    place = os.path.join(root, ".git")
    if os.path.isdir(place):
        return place
    try:
        with open(place, encoding="utf-8", errors="surrogateescape") as file:
            word, _, path = file.read(4096).partition(":")
    except OSError:
        return None
    folder = os.path.normpath(os.path.join(root, path.strip()))
    return folder if word == "gitdir" and os.path.isdir(folder) else None


def _objects(folder: str) -> str:
    try:
        with open(os.path.join(folder, "commondir"), encoding="utf-8") as file:
            folder = os.path.normpath(os.path.join(folder, file.read(4096).strip()))
    except OSError:
        pass
    return os.path.join(folder, "objects")
