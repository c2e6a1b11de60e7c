"""The fenced blocks of Markdown pages, with the comments that stand in front of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

FENCED: Final = re.compile(
    r"(?P<marks>(?:<!--(?:(?!-->).)*-->\n+)*)^```(?P<language>\w*)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_MARK: Final = re.compile(r"<!-- ([a-z ]+): (.*?) -->")


@dataclass(frozen=True)
class Block:
    """A fenced block of a page.

    Attributes:
        page: Its page, relative to the folder of all pages.
        line: Where it begins there.
        language: What it is written in; empty where that is not said.
        text: What stands in it.
        marks: The comments `<!-- NAME: VALUE -->` in front of it.
    """

    page: Path
    line: int
    language: str
    text: str
    marks: tuple[tuple[str, str], ...]

    @property
    def place(self) -> str:
        """Page and line, to be shown."""
        return f"{self.page}:{self.line}"

    def mark(self, name: str) -> str:
        """The value of a mark; empty where there is none."""
        return dict(self.marks).get(name, "")

    def all_marks(self, name: str) -> list[str]:
        """The values of all marks of a name."""
        return [value for key, value in self.marks if key == name]


def blocks_of(page: Path, root: Path) -> list[Block]:
    """The blocks of a page below a folder."""
    text = page.read_text("utf-8")
    return [
        Block(
            page.relative_to(root),
            text.count("\n", 0, match.start("text")) + 1,
            match["language"],
            match["text"],
            tuple(_MARK.findall(match["marks"])),
        )
        for match in FENCED.finditer(text)
    ]
