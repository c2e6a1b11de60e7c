"""Finds lines of a patch in a file, forgiving what models get wrong.

A search tries the strictest reading of the whole file first: exact, then without blanks at line
ends, then without blanks at either end, then with typographic characters taken for plain ones.
Every reading is one string searched by `str.find`, which is linear in the worst case, so files of
100,000 lines cost milliseconds.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

_DASHES: Final = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"
_SINGLE_QUOTES: Final = "\u2018\u2019\u201a\u201b"
_DOUBLE_QUOTES: Final = "\u201c\u201d\u201e\u201f"
_BLANKS: Final = "\u00a0\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
_PLAIN: Final = str.maketrans(
    _DASHES + _SINGLE_QUOTES + _DOUBLE_QUOTES + _BLANKS,
    "-" * len(_DASHES) + "'" * len(_SINGLE_QUOTES) + '"' * len(_DOUBLE_QUOTES) + " " * len(_BLANKS),
)


def _joined(lines: Sequence[str]) -> str:
    return "\n" + "".join(f"{line}\n" for line in lines)


def _exact(lines: Sequence[str]) -> str:
    return _joined(lines)


def _without_trailing_blanks(lines: Sequence[str]) -> str:
    return _joined([line.rstrip() for line in lines])


def _without_blanks(lines: Sequence[str]) -> str:
    return _joined([line.strip() for line in lines])


def _typographically_plain(lines: Sequence[str]) -> str:
    return _without_blanks(lines).translate(_PLAIN)


_READINGS: Final = (_exact, _without_trailing_blanks, _without_blanks, _typographically_plain)


class Haystack:
    """The lines of one file, without their line ends, ready to be searched many times."""

    def __init__(self, lines: Sequence[str]) -> None:
        """Readings of the file are made when a search first needs them."""
        self._lines = lines
        self._readings: dict[int, tuple[str, list[int]]] = {}

    def find(self, needle: Sequence[str], start: int, *, at_end: bool = False) -> int | None:
        """Return the index of the first match at or after a line.

        Args:
            needle: At least one line to find, in a row.
            start: Index of the first line that may match.
            at_end: Match only at the very end of the file.
        """
        if start + len(needle) > len(self._lines):
            return None
        for level, reading in enumerate(_READINGS):
            found = self._find(level, reading(needle), start, at_end=at_end)
            if found is not None:
                return found
        return None

    def _find(self, level: int, needle: str, start: int, *, at_end: bool) -> int | None:
        text, offsets = self._reading(level)
        if at_end:
            is_there = text.endswith(needle) and len(text) - len(needle) >= offsets[start]
            return bisect_left(offsets, len(text) - len(needle)) if is_there else None
        place = text.find(needle, offsets[start])
        return bisect_left(offsets, place) if place >= 0 else None

    def _reading(self, level: int) -> tuple[str, list[int]]:
        """The text of a reading, and where the line break before each line stands in it."""
        if level not in self._readings:
            text = _READINGS[level](self._lines)
            lengths = (len(line) + 1 for line in text[1:-1].split("\n"))
            self._readings[level] = text, list(accumulate(lengths, initial=0))
        return self._readings[level]
