"""Globs as git and ripgrep read them, matched in bounded time whatever a repository holds."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_NAMED_SET = re.compile(r"\[:(\w+):\]")
_NAMED_SETS: Final = {
    "alpha": "a-zA-Z",
    "digit": "0-9",
    "alnum": "a-zA-Z0-9",
    "upper": "A-Z",
    "lower": "a-z",
    "xdigit": "0-9a-fA-F",
    "space": r"\s",
    "blank": r" \t",
    "punct": r"!-/:-@\[-`{-~",
}
_CLASS = re.compile(r"\[(?P<negated>[!^]?)(?P<body>\]?(?:\[:\w+:\]|\\.|[^\]\\])*)\]")
_NOTHING: Final = re.compile("(?!)")
_ANY_NAME: Final = re.compile(".+", re.DOTALL)


class Glob(NamedTuple):
    """A glob by its parts between slashes; None stands for `**`, any number of folders."""

    parts: tuple[re.Pattern[str] | None, ...]

    @classmethod
    def parse(cls, glob: str) -> Glob | None:
        """Read a glob: one without a slash fits a name at any depth, others count from the top.

        Returns:
            None for a glob that fits nothing.
        """
        is_anchored = "/" in glob
        names = glob.removeprefix("/").split("/")
        if not all(names):
            return None
        try:
            parts = [None if name == "**" else _name_pattern(name) for name in names]
        except re.error:
            return None
        if parts[-1] is None:
            parts.append(_ANY_NAME)
        return cls(tuple(parts) if is_anchored else (None, *parts))

    def fits(self, path: str) -> bool:
        """Tell whether a relative path fits, by following all readings at once."""
        at = self._with_skips({0})
        for name in path.split("/"):
            at = self._with_skips(self._after(at, name))
        return len(self.parts) in at

    def _after(self, at: set[int], name: str) -> set[int]:
        following: set[int] = set()
        for index in at:
            part = self.parts[index] if index < len(self.parts) else _NOTHING
            if part is None:
                following.add(index)
            elif part.fullmatch(name):
                following.add(index + 1)
        return following

    def _with_skips(self, at: set[int]) -> set[int]:
        for index in sorted(at):
            skipped = index
            while skipped < len(self.parts) and self.parts[skipped] is None:
                skipped += 1
                at.add(skipped)
        return at


def _name_pattern(glob: str) -> re.Pattern[str]:
    """Translate one name. What stands between stars is taken where it comes first, for good."""
    between: list[str] = [""]
    at = 0
    while at < len(glob):
        if glob[at] == "*":
            between.append("")
            at += 1
        else:
            piece, at = _piece(glob, at)
            between[-1] += piece
    first, *rest = between
    if not rest:
        return re.compile(first, re.DOTALL)
    middle = "".join(f"(?>.*?{piece})" for piece in rest[:-1] if piece)
    return re.compile(f"{first}{middle}.*{rest[-1]}", re.DOTALL)


def _piece(glob: str, at: int) -> tuple[str, int]:
    char = glob[at]
    if char == "?":
        return ".", at + 1
    if char == "[":
        return _class(glob, at)
    if char == "\\":
        return (re.escape(glob[at + 1]), at + 2) if at + 1 < len(glob) else ("(?!)", at + 1)
    return re.escape(char), at + 1


def _class(glob: str, at: int) -> tuple[str, int]:
    """A set of characters; one that is never closed fits nothing."""
    match = _CLASS.match(glob, at)
    if match is None:
        return "(?!)", len(glob)
    body = _NAMED_SET.sub(lambda named: _NAMED_SETS.get(named[1], ""), match["body"])
    body = re.sub(r"^\]|[\[&~|^]", r"\\\g<0>", body)
    return f"[{'^' if match['negated'] else ''}{body}]", match.end()
