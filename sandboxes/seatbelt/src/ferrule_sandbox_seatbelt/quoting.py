"""Paths inside of a profile's text: as patterns that match exactly these letters.

Most paths are handed over as parameters and never stand in the text. A pattern must stand there; it
is needed because the usual file system of macOS takes `.GIT` and `.git` for one name.
"""

from __future__ import annotations

from typing import Final

_SPECIAL: Final = frozenset("\\^$.|?*+()[]{}")
_LETTERS: Final = frozenset("abcdefghijklmnopqrstuvwxyz")


def scheme_string(text: str) -> str:
    """Write a text as a string of the profile language, which is a Scheme."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def place_pattern(folder: str, path: str) -> str:
    """Return a pattern for a path and all below it, its letters below `folder` in either case."""
    start = len(folder)
    exact = "".join(map(_quoted, path[:start]))
    return f"^{exact}{''.join(map(_in_any_case, path[start:]))}(/|$)"


def _in_any_case(character: str) -> str:
    lower = character.lower()
    return f"[{lower}{lower.upper()}]" if lower in _LETTERS else _quoted(character)


def _quoted(character: str) -> str:
    return "\\" + character if character in _SPECIAL else character
