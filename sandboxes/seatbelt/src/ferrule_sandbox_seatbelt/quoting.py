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


def place_pattern(path: str) -> str:
    """Return a pattern for a path and all below it, in whatever case its letters are written."""
    return "^" + "".join(map(_quoted, path)) + "(/|$)"


def _quoted(character: str) -> str:
    lower = character.lower()
    if lower in _LETTERS:
        return f"[{lower}{lower.upper()}]"
    return "\\" + character if character in _SPECIAL else character
