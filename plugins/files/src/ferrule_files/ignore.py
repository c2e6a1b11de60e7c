"""Which files git would ignore, by the rules of `.gitignore` files."""

from __future__ import annotations

import re
from typing import NamedTuple

from ferrule_files.glob import Glob

_ESCAPED_BLANK = re.compile(r"(?<!\\)[ \t]+$")


class Rule(NamedTuple):
    """One line of a `.gitignore`; the glob fits paths relative to the file's folder."""

    glob: Glob
    is_negated: bool
    is_for_folders: bool


class IgnoreFile(NamedTuple):
    """The rules of one file; `folder` is its place, with a slash at the end."""

    folder: str
    rules: tuple[Rule, ...]

    def verdict(self, path: str, *, is_folder: bool) -> bool | None:
        """Tell whether an absolute path is ignored; None where no rule speaks of it."""
        if not path.startswith(self.folder):
            return None
        relative = path[len(self.folder) :]
        for rule in reversed(self.rules):
            if (is_folder or not rule.is_for_folders) and rule.glob.fits(relative):
                return not rule.is_negated
        return None


def parse(folder: str, text: str) -> IgnoreFile:
    """Read a `.gitignore`; lines that are no patterns are left out, as git does."""
    rules = (_rule(line) for line in text.removeprefix("\ufeff").split("\n"))
    return IgnoreFile(f"{folder.rstrip('/')}/", tuple(rule for rule in rules if rule))


def is_ignored(files: tuple[IgnoreFile, ...], path: str, *, is_folder: bool) -> bool:
    """Ask the files from the innermost to the outermost; the first that has a rule decides."""
    for file in reversed(files):
        verdict = file.verdict(path, is_folder=is_folder)
        if verdict is not None:
            return verdict
    return False


def _rule(line: str) -> Rule | None:
    line = _ESCAPED_BLANK.sub("", line.removesuffix("\r"))
    is_negated = line.startswith("!")
    line = line.removeprefix("!")
    if not line or line.startswith("#"):
        return None
    is_for_folders = line.endswith("/")
    glob = Glob.parse(line.rstrip("/") if is_for_folders else line)
    return Rule(glob, is_negated, is_for_folders) if glob else None
