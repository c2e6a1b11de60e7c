"""Which files git would ignore, by the rules of one `.gitignore` file."""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator


class _Line(NamedTuple):
    """One rule: an expression for paths relative to the file's folder."""

    expression: str
    is_negated: bool
    only_folders: bool


class _Block(NamedTuple):
    """Rules of one kind that follow each other, as one expression for files and one for folders."""

    is_ignored: bool
    files: re.Pattern[str] | None
    folders: re.Pattern[str]


class IgnoreRules:
    """The rules of one file."""

    def __init__(self, text: str) -> None:
        """Read them; a line that is no rule is passed over, as git does."""
        lines = [line for line in map(_line, text.splitlines()) if line is not None]
        blocks = [
            _block(list(group), is_ignored=not negated)
            for negated, group in groupby(lines, key=lambda line: line.is_negated)
        ]
        self._blocks = blocks[::-1]

    def verdict(self, path: str, *, is_folder: bool) -> bool | None:
        """Tell whether a relative path is ignored; None where no rule speaks of it."""
        for block in self._blocks:
            pattern = block.folders if is_folder else block.files
            if pattern is not None and pattern.fullmatch(path):
                return block.is_ignored
        return None


def _block(lines: list[_Line], *, is_ignored: bool) -> _Block:
    files = [line.expression for line in lines if not line.only_folders]
    return _Block(
        is_ignored,
        _any_of(files) if files else None,
        _any_of([line.expression for line in lines]),
    )


def _any_of(expressions: list[str]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{each})" for each in expressions), re.DOTALL)


def _line(text: str) -> _Line | None:
    text = text if text.endswith("\\ ") else text.rstrip()
    if not text or text.startswith("#"):
        return None
    is_negated = text.startswith("!")
    text = text[1:] if is_negated else text
    only_folders = text.endswith("/")
    pattern = text.rstrip("/")
    if not pattern:
        return None
    is_anchored = "/" in pattern
    expression = "".join(_pieces(pattern.removeprefix("/")))
    if not is_anchored:
        expression = f"(?:.*/)?{expression}"
    try:
        re.compile(expression)
    except re.error:
        return None
    return _Line(expression, is_negated, only_folders)


def _pieces(pattern: str) -> Iterator[str]:
    """Turn a glob into an expression, piece by piece."""
    at = 0
    while at < len(pattern):
        if pattern.startswith("**/", at):
            yield "(?:.*/)?"
            at += 3
        elif pattern.startswith("**", at):
            yield ".*"
            at += 2
        elif pattern[at] == "*":
            yield "[^/]*"
            at += 1
        elif pattern[at] == "?":
            yield "[^/]"
            at += 1
        elif pattern[at] == "[" and (end := pattern.find("]", at + 2)) > 0:
            inner = pattern[at + 1 : end].replace("\\", "\\\\")
            yield f"[^{inner[1:]}]" if inner[0] in "!^" else f"[{inner}]"
            at = end + 1
        else:
            at += pattern[at] == "\\" and at + 1 < len(pattern)
            yield re.escape(pattern[at])
            at += 1
