"""Patterns of `.agentignore` files, which are those of `.gitignore`. Called by `agentignore.py`.

What git's documentation says of a pattern holds here: the last that matches counts, `!` takes out
again, a slash in it ties it to the file's folder, one at its end means folders alone.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

_CLASS = re.compile(r"\[(?P<no>[!^]?)(?P<body>\]?(?:\[:[a-z]+:\]|\\.|[^\]\\])*)\]", re.DOTALL)
_POSIX = {
    "alnum": "a-zA-Z0-9",
    "alpha": "a-zA-Z",
    "blank": " \\t",
    "cntrl": "\\x00-\\x1f\\x7f",
    "digit": "0-9",
    "graph": "\\x21-\\x7e",
    "lower": "a-z",
    "print": "\\x20-\\x7e",
    "punct": "!-/:-@\\[-`{-~",
    "space": "\\s",
    "upper": "A-Z",
    "xdigit": "0-9a-fA-F",
}
_NEVER = re.compile(r"(?!)")


class IgnorePattern(NamedTuple):
    """One line of a file.

    Attributes:
        regex: Matches a path below the file's folder, or a name alone.
        is_negative: Whether what matches is taken out again.
        only_folders: Whether it means folders alone.
        by_name: Whether the name alone is compared, at every depth.
    """

    regex: re.Pattern[str]
    is_negative: bool
    only_folders: bool
    by_name: bool


def parse_patterns(text: str) -> tuple[IgnorePattern, ...]:
    """Read the patterns of a file, comments and empty lines left out."""
    lines = text.removeprefix("\ufeff").split("\n")
    found = (_pattern(line.removesuffix("\r")) for line in lines)
    return tuple(pattern for pattern in found if pattern is not None)


def matches(patterns: Iterable[IgnorePattern], path: str, *, is_folder: bool) -> bool:
    """Whether patterns name a path, relative to the folder of their file.

    What lies in a folder that they name is named with it, which the caller sees to.
    """
    name = path.rpartition("/")[2]
    named = False
    for pattern in patterns:
        if pattern.is_negative != named or (pattern.only_folders and not is_folder):
            continue
        if pattern.regex.fullmatch(name if pattern.by_name else path):
            named = not named
    return named


def _pattern(line: str) -> IgnorePattern | None:
    line = _without_trailing_spaces(line)
    if not line or line.startswith("#"):
        return None
    is_negative = line.startswith("!")
    line = line[1:] if is_negative else line
    only_folders = line.endswith("/")
    line = line[:-1] if only_folders else line
    by_name = "/" not in line
    line = line.removeprefix("/")
    if not line:
        return None
    return IgnorePattern(_regex(line), is_negative, only_folders, by_name)


def _without_trailing_spaces(line: str) -> str:
    stripped = line.rstrip(" ")
    escapes = len(stripped) - len(stripped.rstrip("\\"))
    return stripped + " " if escapes % 2 and stripped != line else stripped


def _regex(glob: str) -> re.Pattern[str]:
    """Translate a pattern; one that is not well-formed matches nothing, as in git."""
    out: list[str] = []
    at = 0
    while at < len(glob):
        step = _stars(glob, at) or _sign(glob, at)
        if step is None:
            return _NEVER
        out.append(step[0])
        at = step[1]
    try:
        return re.compile("".join(out), re.DOTALL)
    except re.error:
        return _NEVER


def _stars(glob: str, at: int) -> tuple[str, int] | None:
    """Translate a run of asterisks: several between slashes stand for any number of folders."""
    end = at
    while glob[end : end + 1] == "*":
        end += 1
    if end == at:
        return None
    opens = at == 0 or glob[at - 1] == "/"
    if end - at > 1 and opens:
        if end == len(glob):
            return ".+" if at else ".*", end
        if glob[end] == "/":
            return "(?:.*/)?", end + 1
    return "[^/]*", end


def _sign(glob: str, at: int) -> tuple[str, int] | None:
    sign = glob[at]
    if sign == "?":
        return "[^/]", at + 1
    if sign == "\\":
        return None if at + 1 == len(glob) else (re.escape(glob[at + 1]), at + 2)
    if sign == "[":
        match = _CLASS.match(glob, at)
        return None if match is None else (_class(match["no"], match["body"]), match.end())
    return re.escape(sign), at + 1


def _class(no: str, body: str) -> str:
    """Translate a set of characters, which never holds a slash."""
    inner: list[str] = []
    at = 0
    while at < len(body):
        named = re.compile(r"\[:([a-z]+):\]").match(body, at)
        if named:
            inner.append(_POSIX.get(named[1], ""))
            at = named.end()
        elif body[at] == "\\":
            inner.append(re.escape(body[at + 1]))
            at += 2
        elif body[at] == "-" and 0 < at < len(body) - 1:
            inner.append("-")
            at += 1
        else:
            inner.append(re.escape(body[at]))
            at += 1
    found = "".join(inner)
    return f"(?!/)[{'^' if no else ''}{found}]" if found else "(?!)"
