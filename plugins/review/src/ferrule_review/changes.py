"""What a review is about: the changes as they are put before the model, or why there are none."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, NamedTuple

from ferrule_review.excerpt import Excerpt
from ferrule_review.working_copy import Change, Comparison, WorkingCopy, working_copy

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ferrule_hookspecs.sandbox import FileSystem
    from ferrule_review.repository import Repository

_MOST_NAMES: Final = 200


class Changes(NamedTuple):
    """Changes, as text for the model.

    Attributes:
        text: Lists of files, and as much of the diffs as there is room for.
        is_whole: Whether nothing was left out.
    """

    text: str
    is_whole: bool


class ChangeReader:
    """Reads the changes of one repository, as far as the sandbox lets commands read the files."""

    def __init__(
        self, repository: Repository, environ: Mapping[str, str], files: FileSystem
    ) -> None:
        self._repository = repository
        self._environ = environ
        self._files = files

    async def uncommitted(self) -> Changes | None:
        """Read what is staged, what is not, and what is not tracked; None where there is nothing.

        Raises:
            FerruleError: git failed.
        """
        async with working_copy(self._repository, self._environ) as copy:
            before = self._repository.head or await copy.empty_tree()
            staged = Comparison("Staged", ("diff-index", "--cached", before))
            parts = [await self._read(copy, staged)]
            nested = await copy.take_untracked()
            parts.append(await self._read(copy, Comparison("Not staged", ("diff-files",))))
            return _joined([*parts, _nested(nested)])

    async def since(self, commit: str) -> Changes | None:
        """Read how the working tree differs from a commit; None where it does not."""
        async with working_copy(self._repository, self._environ) as copy:
            nested = await copy.take_untracked()
            comparison = Comparison("Changed", ("diff-index", commit))
            return _joined([await self._read(copy, comparison), _nested(nested)])

    async def between(self, before: str | None, after: str) -> Changes | None:
        """Read how two commits differ, the first one None for no files; None where they do not."""
        async with working_copy(self._repository, self._environ) as copy:
            first = before or await copy.empty_tree()
            comparison = Comparison("Changed", ("diff-tree", "-r", first, after))
            return _joined([await self._read(copy, comparison)])

    async def _read(self, copy: WorkingCopy, comparison: Comparison) -> Changes | None:
        changes = await copy.changes(comparison)
        if not changes:
            return None
        seen: list[Change] = []
        hidden: list[Change] = []
        for change in changes:
            (hidden if self._is_hidden(change) else seen).append(change)
        lines = [f"{comparison.title}, {len(changes)} files:", *_names(seen)]
        if hidden:
            lines.append(f"[left out: {len(hidden)} files that may not be read here]")
        excerpt = Excerpt()
        if seen:
            without = [path for change in hidden for path in change.paths]
            diff, is_cut = await copy.diff(comparison, without)
            lines += ["", excerpt.take(diff, is_cut=is_cut)]
        return Changes("\n".join(lines), excerpt.is_whole and not hidden)

    def _is_hidden(self, change: Change) -> bool:
        """Whether commands of the model could not read a file: then its diff is not shown."""
        paths = [os.path.join(self._repository.root, path) for path in change.paths]
        return any(self._files.check("read", path) is not None for path in paths)


def _names(changes: Sequence[Change]) -> list[str]:
    lines = [f"- {change.state}: {_shown(change)}" for change in changes[:_MOST_NAMES]]
    if len(changes) > _MOST_NAMES:
        lines.append(f"[left out: the names of {len(changes) - _MOST_NAMES} more files]")
    return lines


def _shown(change: Change) -> str:
    """Return the names of a file in one line."""
    return " -> ".join(_one_line(path) for path in change.paths)


def _one_line(path: str) -> str:
    return path if path.isprintable() else ascii(path)


def _nested(folders: Sequence[str]) -> Changes | None:
    if not folders:
        return None
    lines = [
        "Repositories of their own, which are not looked into:",
        *(f"- {_one_line(f)}" for f in folders),
    ]
    return Changes("\n".join(lines), is_whole=True)


def _joined(parts: Sequence[Changes | None]) -> Changes | None:
    found = [part for part in parts if part is not None]
    if not found:
        return None
    text = "\n\n".join(part.text for part in found)
    return Changes(text, all(part.is_whole for part in found))
