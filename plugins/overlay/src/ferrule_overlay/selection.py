"""What of the pending changes a command is about, and what may not be done about them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ferrule_hookspecs.errors import FerruleError
from ferrule_hookspecs.evaluator import decide_canonical
from ferrule_overlay.hunks import as_lines, find_hunks, with_hunks
from ferrule_overlay.journal import Transition

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from ferrule_hookspecs.evaluator import Operation
    from ferrule_hookspecs.sandbox import ResolvedPolicy
    from ferrule_overlay.change import Change
    from ferrule_overlay.shelf import Shelf
    from ferrule_overlay.tree import Entry

_GIT_PROGRAMS: Final = frozenset(
    (
        "hooks",
        "config",
        "config.worktree",
        "commondir",
        "gitdir",
        "rebase-merge",
        "rebase-apply",
        "sequencer",
    )
)
_NOT_TAKEN: Final = "it is neither a file, a folder nor a link"


@dataclass(frozen=True, slots=True)
class Selection:
    """Changes a command was asked for.

    Attributes:
        files: Absolute paths of files and folders; empty means everything.
        hunks: Numbers of hunks of the one file; empty means the whole file.
        theirs: Paths whose conflict is decided for the thread.
        ours: Paths whose conflict is decided for the workspace.
    """

    files: Sequence[str] = ()
    hunks: Collection[int] = ()
    theirs: Sequence[str] = ()
    ours: Sequence[str] = ()

    def chosen(self, changes: Sequence[Change]) -> list[Change]:
        """The changes that are meant, with the new folders they need.

        Raises:
            FerruleError: A path that was named has no change.
        """
        named = [*self.files, *self.theirs, *self.ours]
        for path in named:
            if not any(_is_meant(change.place, path) for change in changes):
                raise FerruleError(f"{path} has no pending change")
        if not self.files:
            return list(changes)
        meant = {
            change.place for change in changes if any(_is_meant(change.place, p) for p in named)
        }
        return [
            change
            for change in changes
            if change.place in meant or (_is_new_folder(change) and _holds(change.place, meant))
        ]

    def means(self, place: str) -> bool:
        """Whether a path is meant."""
        named = [*self.files, *self.theirs, *self.ours]
        return not self.files or any(_is_meant(place, path) for path in named)

    def is_for_thread(self, change: Change) -> bool:
        """Whether a conflict of a change was decided for the thread."""
        return any(_is_meant(change.place, path) for path in self.theirs)

    def is_for_workspace(self, change: Change) -> bool:
        """Whether a conflict of a change was decided for the workspace."""
        return any(_is_meant(change.place, path) for path in self.ours)


def obstacle(change: Change, policy: ResolvedPolicy, selection: Selection | None = None) -> str:
    """Why a change is not taken over; empty where nothing speaks against it.

    What the policy protects never is. What would be protected if it were there already, as it makes
    Git run programs, is where it was named.
    """
    if "special" in {entry.kind for entry in (change.before, change.after) if entry is not None}:
        return _NOT_TAKEN
    operations: list[Operation] = ["write"]
    if change.before is None and change.after is not None and change.after.kind != "file":
        operations.append("create")
    elif change.after is None or change.kind == "replaced":
        operations.append("remove")
    for operation in operations:
        denial = decide_canonical(policy, operation, change.place)
        if denial is not None:
            return denial.reason
    if change.after is None or not _makes_git_run_programs(change.place, change.after):
        return ""
    named = () if selection is None else selection.files
    if not any(_is_meant(change.place, path) and "/.git" in path for path in named):
        return "it may make Git run programs; look at it, and name it by --file to have it"
    return ""


def _makes_git_run_programs(place: str, entry: Entry) -> bool:
    """Whether something belongs to what is protected in a repository, be it a new one."""
    parts = place.split("/")
    if ".git" not in parts or place.endswith(".sample") or entry.is_folder:
        return False
    inner = parts[parts.index(".git") + 1 :]
    return not inner or any(part in _GIT_PROGRAMS for part in inner)


def hunked(shelf: Shelf, change: Change, numbers: Collection[int]) -> Transition:
    """The change with only some of its hunks.

    Raises:
        FerruleError: It has no such hunk, or is no change of a text.
    """
    before, after = contents(shelf, change)
    old, new = as_lines(before), as_lines(after)
    if change.after is None or old is None or new is None:
        raise FerruleError(f"{change.place} has no hunks to choose from: apply it as a whole")
    hunks = find_hunks(old, new)
    known = {hunk.number for hunk in hunks}
    if unknown := sorted(set(numbers) - known):
        raise FerruleError(f"{change.place} has {len(hunks)} hunks, and no hunk {unknown[0]}")
    text = with_hunks(old, new, hunks, numbers)
    digest = shelf.objects.put(text.encode())
    mode = change.after.mode if change.before is None else change.before.mode
    if set(numbers) == known:
        mode = change.after.mode
    entry = change.after._replace(digest=digest, size=len(text.encode()), mode=mode)
    return Transition(change.root, change.path, change.before, entry)


def contents(shelf: Shelf, change: Change) -> tuple[bytes | None, bytes | None]:
    """What a file holds now, and what it would hold; None where there is no file."""
    root = shelf.roots[change.root]
    before = after = None
    if change.before is not None and change.before.kind == "file":
        before = root.real.read(change.path)
    if change.after is not None and change.after.kind == "file":
        after = root.layer.tree.read(change.path)
    return before, after


def absolute(paths: Iterable[str], shelf: Shelf) -> list[str]:
    """Read paths as they were typed: below the current folder, or below the workspace."""
    roots = [root.path for root in shelf.roots]
    found: list[str] = []
    for path in paths:
        here = os.path.normpath(os.path.join(os.path.realpath(os.getcwd()), path))
        if not any(_is_meant(here, root) for root in roots) and roots:
            here = os.path.normpath(os.path.join(roots[0], path))
        found.append(here)
    return found


def _is_meant(place: str, named: str) -> bool:
    return place == named or place.startswith(named.rstrip("/") + "/")


def _is_new_folder(change: Change) -> bool:
    is_folder = change.after is not None and change.after.is_folder
    return is_folder and (change.before is None or not change.before.is_folder)


def _holds(folder: str, places: Collection[str]) -> bool:
    return any(place.startswith(folder + "/") for place in places)
