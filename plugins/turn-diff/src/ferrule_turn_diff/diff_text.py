"""The text of a diff as clients know it, and never longer than they can show."""

from __future__ import annotations

import re
from typing import Final

_MOST_CHARACTERS: Final = 1024 * 1024
_MODE: Final = re.compile(r"^(index [0-9a-f]{40,64}\.\.[0-9a-f]{40,64}) \d{6}$", re.MULTILINE)
_FILE: Final = re.compile(r"^diff --git ", re.MULTILINE)


def tidied(diff: bytes) -> str:
    """Return the text, without the rest of the files where it is too long."""
    text = _MODE.sub(r"\1", diff.decode(errors="replace"))
    if len(text) <= _MOST_CHARACTERS:
        return text
    starts = [match.start() for match in _FILE.finditer(text)]
    end = max((start for start in starts if start <= _MOST_CHARACTERS), default=0)
    left_out = sum(start >= end for start in starts)
    return f"# The diff is cut: {left_out} files are left out.\n{text[:end]}"
