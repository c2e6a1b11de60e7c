"""As much of a diff as a prompt can carry, with a marker wherever something is left out."""

from __future__ import annotations

import re
from typing import Final

MOST: Final = 64 * 1024
MOST_OF_A_FILE: Final = 24 * 1024
_MOST_OF_A_LINE: Final = 2000
_BEGINNINGS: Final = re.compile(
    rb"^(?=diff --(?:git|cc|combined) |\* Unmerged path )", re.MULTILINE
)


class Excerpt:
    """Takes diffs as long as there is room."""

    def __init__(self) -> None:
        self._room = MOST
        self.is_whole = True

    def take(self, diff: bytes, *, is_cut: bool = False) -> str:
        """Return the diff, or what there is room for, in lines that say what is missing."""
        files = [each for each in _BEGINNINGS.split(diff) if each]
        shown: list[str] = []
        for number, each in enumerate(files):
            if self._room <= 0:
                shown.append(f"[left out: the changes of {len(files) - number} more files]")
                self.is_whole = False
                break
            shown.append(self._file(each.decode(errors="replace").removesuffix("\n")))
        if is_cut:
            shown.append("[left out: whatever follows; the diff is too large to be read here]")
            self.is_whole = False
        return "\n".join(shown)

    def _file(self, text: str) -> str:
        limit = min(self._room, MOST_OF_A_FILE)
        lines = text.split("\n")
        kept: list[str] = []
        used = 0
        for number, line in enumerate(lines):
            shown = self._line(line)
            used += len(shown.encode(errors="replace")) + 1
            if used > limit:
                kept.append(f"[left out: {len(lines) - number} more lines of this file's diff]")
                self.is_whole = False
                break
            kept.append(shown)
        self._room -= used
        return "\n".join(kept)

    def _line(self, line: str) -> str:
        if len(line) <= _MOST_OF_A_LINE:
            return line
        self.is_whole = False
        more = len(line) - _MOST_OF_A_LINE
        return f"{line[:_MOST_OF_A_LINE]} [left out: {more} more characters of this line]"
