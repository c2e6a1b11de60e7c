"""What `.agentignore` files of a workspace keep from being read. Called by `policy.py`.

Such a file can come from anybody, so it only ever takes away: every file is judged on its own, and
what one names no other one takes out again.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Final, NamedTuple

from ferrule.folder_listing import Listing, list_folder
from ferrule.ignore_patterns import IgnorePattern, matches, parse_patterns
from ferrule_hookspecs.errors import ConfigError
from ferrule_hookspecs.evaluator import is_inside

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ferrule_hookspecs.sandbox import WritableRoot

NAME: Final = ".agentignore"
_SIZE_LIMIT: Final = 1 << 20
_MATCH_LIMIT: Final = 8192
_FOLDER_LIMIT: Final = 50_000
_KEPT: Final = 65_536


class Ignored(NamedTuple):
    """Places that must not be read, and the files that say so."""

    places: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


class _Rules(NamedTuple):
    """The patterns of one file, and the folder they are relative to."""

    folder: str
    patterns: tuple[IgnorePattern, ...]

    def name(self, path: str, *, is_folder: bool) -> bool:
        below = path[len(self.folder) :].lstrip("/")
        return matches(self.patterns, below, is_folder=is_folder)


class _Judged(NamedTuple):
    """What rules say about what one folder holds."""

    listing: Listing
    rules: tuple[_Rules, ...]
    named: tuple[str, ...]
    entered: tuple[str, ...]


_read: dict[str, tuple[tuple[int, int, int], tuple[IgnorePattern, ...]]] = {}
_judged: dict[str, _Judged] = {}


def files_above(cwd: str) -> Iterator[str]:
    """Find the files that hold for a working directory: in it, and up to its repository's top."""
    folders = [cwd]
    while not os.path.lexists(f"{folders[-1]}/.git"):
        parent = os.path.dirname(folders[-1])
        if parent == folders[-1]:
            folders = [cwd]  # no repository
            break
        folders.append(parent)
    for folder in folders:
        path = os.path.join(folder, NAME)
        if os.path.lexists(path):
            yield path


def find_ignored(files: Iterable[str]) -> Ignored:
    """Find what files name at this moment, those in folders below them included.

    Raises:
        ConfigError: One cannot be read, or names more than can be kept from a command.
    """
    starts: list[str] = []
    for folder in sorted({os.path.dirname(path) for path in files}):
        if not any(is_inside(folder, start) for start in starts):
            starts.append(folder)
    if not starts:
        return Ignored()
    walk = _Walk()
    for start in starts:
        walk.through(start)
    return Ignored(tuple(walk.places), tuple(walk.files))


def with_files_kept(
    roots: Sequence[WritableRoot], files: Sequence[str]
) -> tuple[WritableRoot, ...]:
    """Protect the files themselves wherever they could be written."""
    named = {place for path in files for place in (path, os.path.realpath(path))}
    return tuple(
        root._replace(
            read_only=tuple(
                sorted({*root.read_only, *(each for each in named if is_inside(each, root.path))})
            )
        )
        for root in roots
    )


class _Walk:
    """A walk through the folders that files hold for."""

    def __init__(self) -> None:
        self.places: dict[str, None] = {}
        self.files: list[str] = []
        self._folders = 0

    def through(self, start: str) -> None:
        pending: list[tuple[str, tuple[_Rules, ...]]] = [(start, ())]
        while pending:
            folder, rules = pending.pop()
            self._folders += 1
            if self._folders > _FOLDER_LIMIT:
                raise ConfigError(
                    f"{start}/{NAME} holds for more than {_FOLDER_LIMIT} folders, which cannot be "
                    "searched for every command; name large folders in it that need not be read"
                )
            listing = list_folder(folder)
            if NAME in listing.others or NAME in listing.folders:
                path = os.path.join(folder, NAME)
                self.files.append(path)
                rules = (*rules, _Rules(folder, _patterns(path)))
            judged = _judge(folder, listing, rules)
            for name in judged.named:
                self._deny(os.path.join(folder, name), start)
            pending += [(os.path.join(folder, name), rules) for name in judged.entered]

    def _deny(self, path: str, start: str) -> None:
        target = os.path.realpath(path)
        if is_inside(start, target) or not os.path.lexists(target):
            return  # a link to what holds the workspace would take away everything
        self.places[target] = None
        if len(self.places) > _MATCH_LIMIT:
            raise ConfigError(
                f"{start}/{NAME} names more than {_MATCH_LIMIT} places; "
                "name the folders that hold them"
            )


def _judge(folder: str, listing: Listing, rules: tuple[_Rules, ...]) -> _Judged:
    """Sort what a folder holds, or remember that from the last time."""
    known = _judged.get(folder)
    if known is not None and known.listing is listing and known.rules == rules:
        return known
    named: list[str] = []
    entered: list[str] = []
    for name in listing.folders:
        path = os.path.join(folder, name)
        if name == ".git":
            continue
        is_named = any(each.name(path, is_folder=True) for each in rules)
        (named if is_named else entered).append(name)
    for name in listing.others:
        path = os.path.join(folder, name)
        if name != NAME and any(_names_other(each, path) for each in rules):
            named.append(name)
    judged = _Judged(listing, rules, tuple(named), tuple(entered))
    if len(_judged) >= _KEPT:
        _judged.clear()
    _judged[folder] = judged
    return judged


def _names_other(rules: _Rules, path: str) -> bool:
    """Whether rules name a file, or a link, which may lead to a folder."""
    return rules.name(path, is_folder=False) or (
        os.path.islink(path) and os.path.isdir(path) and rules.name(path, is_folder=True)
    )


def _patterns(path: str) -> tuple[IgnorePattern, ...]:
    try:
        facts = os.stat(path)
        stamp = facts.st_mtime_ns, facts.st_size, facts.st_ino
        known = _read.get(path)
        if known is not None and known[0] == stamp:
            return known[1]
        if not stat.S_ISREG(facts.st_mode) or facts.st_size > _SIZE_LIMIT:
            raise ConfigError(f"{path} must be a file of at most {_SIZE_LIMIT >> 20} MiB")
        with open(path, "rb") as file:
            text = file.read(_SIZE_LIMIT).decode("utf-8", "surrogateescape")
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be read ({error.strerror}), so nobody knows what it keeps from "
            "commands; make it readable or remove it"
        ) from None
    patterns = parse_patterns(text)
    _read[path] = stamp, patterns
    return patterns
