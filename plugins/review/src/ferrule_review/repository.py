"""The user's repository: where it lies, and which commits are meant.

Only questions are asked here that make git run nothing, whatever the repository's configuration
says: no file of the working tree is looked at.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, NamedTuple

from ferrule_review.errors import CannotReviewError
from ferrule_review.git import Git, deaf

if TYPE_CHECKING:
    from collections.abc import Mapping

_VALUES: Final = "|".join(
    (
        *("autocrlf", "eol", "filemode", "ignorecase", "precomposeunicode", "safecrlf"),
        *("sparsecheckout", "sparsecheckoutcone", "symlinks"),
    )
)
"""Settings of `core` that say how files are to be read, and that name no program."""


class Commit(NamedTuple):
    """A commit: its id, the one before it, and what its author wrote.

    Attributes:
        parent: None where there is none; empty where it is not in this clone.
    """

    sha: str
    parent: str | None
    message: str
    is_merge: bool


class Repository(NamedTuple):
    """A repository.

    Attributes:
        root: Top of the working tree; empty where there is none.
        git_folder: Holds the index; of a linked working tree its own one.
        common_folder: Holds the objects.
        object_format: sha1 or sha256.
        head: The commit that is checked out; empty before the first one.
        git: git in the working directory.
    """

    root: str
    git_folder: str
    common_folder: str
    object_format: str
    head: str
    git: Git

    async def commit_id(self, name: str) -> str:
        """Return the id of a commit that is named in any way git knows; empty if there is none."""
        words = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
        answer = await self.git.ask(*words)
        return answer.line if answer.exit_code == 0 else ""

    async def merge_base(self, commit: str) -> str:
        """Return the last commit that another one and the one checked out have in common."""
        answer = await self.git.ask("merge-base", commit, self.head)
        return answer.line if answer.exit_code == 0 else ""

    async def commit(self, sha: str) -> Commit:
        """Read a commit."""
        head, _, message = (await self.git.tell("cat-file", "commit", sha)).data.partition(b"\n\n")
        parents = [line for line in head.split(b"\n") if line.startswith(b"parent ")]
        parent = await self.commit_id(f"{sha}^1") if parents else None
        text = message.decode(errors="replace").strip()
        return Commit(sha, parent, text, is_merge=len(parents) > 1)

    async def settings(self) -> list[str]:
        """Return how the user has git read files: values only, nothing that could be run."""
        answer = await self.git.ask("config", "-z", "--get-regexp", rf"^core\.({_VALUES})$")
        pairs = [each.partition(b"\n") for each in answer.data.split(b"\0") if each]
        found = {name.decode(): value.decode(errors="replace") for name, _, value in pairs}
        ignored = await self.git.ask("config", "--global", "--path", "core.excludesFile")
        if ignored.exit_code == 0:
            found["core.excludesfile"] = ignored.line
        return [f"{name}={value}" for name, value in found.items()]


async def find_repository(cwd: str, environ: Mapping[str, str]) -> Repository:
    """Find the repository around a folder.

    Raises:
        CannotReviewError: There is none, or git does not open it.
    """
    git = Git(cwd, deaf(environ))
    asked = ("--git-dir", "--git-common-dir", "--show-object-format", "--is-inside-work-tree")
    found = await git.ask("rev-parse", "--path-format=absolute", *asked)
    if found.exit_code != 0:
        raise CannotReviewError(_no_repository(cwd))
    folder, common, object_format, has_tree = found.line.split("\n")
    root = ""
    if has_tree == "true":
        root = (await git.tell("rev-parse", "--path-format=absolute", "--show-toplevel")).line
    repository = Repository(root, folder, common, object_format, "", git)
    return repository._replace(head=await repository.commit_id("HEAD"))


def _no_repository(cwd: str) -> str:
    if any(_is_repository(os.path.join(each, ".git")) for each in _upwards(cwd)):
        return (
            f"git does not open the repository around {cwd}; `git status` there says why. With"
            " instructions of your own no repository is needed"
        )
    return (
        f"{cwd} is in no git repository, so there are no changes to compare; go to one, or give"
        " instructions of your own"
    )


def _is_repository(place: str) -> bool:
    # An empty `.git` may be a mount point that a sandbox left; a file points to a worktree's data.
    return os.path.isfile(place) or os.path.exists(os.path.join(place, "HEAD"))


def _upwards(folder: str) -> list[str]:
    folders = [folder]
    while (parent := os.path.dirname(folders[-1])) != folders[-1]:
        folders.append(parent)
    return folders
