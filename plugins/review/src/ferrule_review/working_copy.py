"""What changed in a repository, told by a git that hears no configuration but ours.

The user's objects, index and files are read through a repository of our own in a temporary folder,
so that no filter, monitor or other program runs that the repository may name, and nothing of the
user's is written.
"""

from __future__ import annotations

import os
import shutil
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from ferrule_review.git import Git, deaf

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping, Sequence

    from ferrule_review.repository import Repository

_MOST_DIFF: Final = 2 * 1024 * 1024
_SHOWN: Final = ("-M", "--ignore-submodules=dirty")
_PATCH: Final = ("-p", "--no-ext-diff", "--no-textconv", "--no-color", "--full-index")
_STATES: Final = {
    "A": "added",
    "D": "deleted",
    "M": "modified",
    "R": "renamed",
    "T": "type changed",
    "U": "in conflict",
}


class Change(NamedTuple):
    """One file that changed.

    Attributes:
        state: What happened to it.
        paths: From the top of the repository; of a renamed file the old one first.
    """

    state: str
    paths: tuple[str, ...]


class Comparison(NamedTuple):
    """Two states of the files, as words for git.

    Attributes:
        title: What is compared.
        words: Command and arguments.
    """

    title: str
    words: tuple[str, ...]


class WorkingCopy:
    """Compares states of the user's files."""

    def __init__(self, git: Git, repository: Repository) -> None:
        self._git = git
        self._repository = repository
        self._empty = ""

    async def empty_tree(self) -> str:
        """Return the name of a state without files."""
        if not self._empty:
            self._empty = (await self._git.tell("mktree")).line
        return self._empty

    async def take_untracked(self) -> list[str]:
        """Have untracked files count as added from now on; returns what cannot be looked into."""
        words = ["ls-files", "-z", "--others", "--exclude-standard"]
        words += _own_excludes(self._repository.common_folder)
        found = (await self._git.tell(*words)).data.split(b"\0")
        files = [name for name in found if name and not name.endswith(b"/")]
        if files:
            words = (
                "add",
                "-N",
                "--ignore-errors",
                "--pathspec-from-file=-",
                "--pathspec-file-nul",
            )
            literal = b"\0".join(b":(top,literal)" + name for name in files)
            await self._git.tell(*words, given=literal)  # one that is gone would cost the others
        return [_text(name) for name in found if name.endswith(b"/")]

    async def changes(self, comparison: Comparison) -> list[Change]:
        """List the files that differ."""
        command, *rest = comparison.words
        answer = await self._git.tell(command, *_SHOWN, "--name-status", "-z", *rest)
        return _changes(answer.data)

    async def diff(self, comparison: Comparison, hidden: Sequence[str]) -> tuple[bytes, bool]:
        """Return a diff without the hidden files, and whether it was cut off."""
        command, *rest = comparison.words
        without = [f":(exclude,top,literal){path}" for path in hidden]
        paths = ["--", ":(top)", *without] if hidden else []
        answer = await self._git.tell(command, *_SHOWN, *_PATCH, *rest, *paths, limit=_MOST_DIFF)
        return answer.data, answer.is_cut


@asynccontextmanager
async def working_copy(
    repository: Repository, environ: Mapping[str, str]
) -> AsyncGenerator[WorkingCopy]:
    """Read a repository through one of our own, which is gone afterwards."""
    import tempfile

    with tempfile.TemporaryDirectory(prefix="ferrule-review-") as folder:
        ours = os.path.join(folder, "git")
        top = repository.root or repository.git_folder
        objects = os.path.join(repository.common_folder, "objects")
        surroundings = {
            **deaf(environ),
            "GIT_DIR": ours,
            "GIT_WORK_TREE": top,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": _quoted(objects),
        }
        git = Git(top, surroundings, await repository.settings())
        await git.tell("init", "-q", "--template=", f"--object-format={repository.object_format}")
        if repository.root:
            _borrow_index(repository.git_folder, ours)
            await git.ask("update-index", "-q", "--refresh")
        yield WorkingCopy(git, repository)


def _own_excludes(folder: str) -> list[str]:
    """Return what has git leave out the files that the repository, and no file in it, names."""
    path = os.path.join(folder, "info", "exclude")
    return [f"--exclude-from={path}"] if os.path.isfile(path) else []


def _borrow_index(theirs: str, ours: str) -> None:
    """Copy the index with its time, by which git knows files that changed right after it."""
    with suppress(FileNotFoundError):  # nothing was ever added
        shutil.copy2(os.path.join(theirs, "index"), os.path.join(ours, "index"))
    for name in os.listdir(theirs):
        if name.startswith("sharedindex."):
            shutil.copy2(os.path.join(theirs, name), os.path.join(ours, name))


def _quoted(path: str) -> str:
    """Write a path as one entry of a list of paths."""
    if ":" not in path and not path.startswith('"'):
        return path
    return '"' + path.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _changes(data: bytes) -> list[Change]:
    fields = iter([_text(each) for each in data.split(b"\0")])
    found: list[Change] = []
    for state in fields:
        if not state:
            continue
        paths = (next(fields), next(fields)) if state[0] in "RC" else (next(fields),)
        found.append(Change(_STATES.get(state[0], "changed"), paths))
    return found


def _text(name: bytes) -> str:
    return name.decode(errors="surrogateescape")
