"""The protected places of one folder that may be written, while they are being found."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field

from ferrule_hookspecs.evaluator import is_inside
from ferrule_hookspecs.sandbox import WritableRoot


@dataclass(slots=True)
class Places:
    """The protected places of one root while they are being found."""

    root: str
    read_only: set[str] = field(default_factory=set[str])
    forbidden: set[str] = field(default_factory=set[str])
    pinned: set[str] = field(default_factory=set[str])
    git_folders: set[str] = field(default_factory=set[str])
    outside: list[str] = field(default_factory=list[str])
    """Git folders of linked worktrees that lie elsewhere."""
    ignore_files: list[str] = field(default_factory=list[str])
    """Files below it that keep something from being read."""

    def keep(self, path: str) -> None:
        """Protect a path: what is there, where it leads, or its coming into being."""
        try:
            mode = os.lstat(path).st_mode
        except OSError:
            self.forbidden.add(path)
            return
        if stat.S_ISLNK(mode):
            self.read_only.add(path)
            target = os.path.realpath(path)
            if is_inside(target, self.root) and target != self.root:
                self.keep(target)
        elif stat.S_ISDIR(mode) and is_empty(path):
            self.forbidden.add(path)
        else:
            self.read_only.add(path)

    def keep_ignore_file(self, path: str) -> None:
        """Protect a file that keeps something from being read, and remember it."""
        self.ignore_files.append(path)
        self.keep(path)

    def frozen(self) -> WritableRoot:
        """The root as backends see it."""
        return WritableRoot(
            self.root,
            tuple(sorted(self.read_only)),
            tuple(sorted(self.forbidden)),
            tuple(sorted(self.pinned - self.read_only - {self.root})),
        )


def is_empty(folder: str) -> bool:
    """Whether a folder is empty; what cannot be read counts as full."""
    try:
        with os.scandir(folder) as entries:
            return next(entries, None) is None
    except OSError:
        return False
