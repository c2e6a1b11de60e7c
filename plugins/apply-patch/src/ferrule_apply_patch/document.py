"""A text file as lines that keep their own line ends, and what edits make of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ferrule_apply_patch.parser import PatchError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


@dataclass(frozen=True, slots=True)
class Edit:
    """Replaces the lines from `start` up to `end` by `new`, which has no line ends yet."""

    start: int
    end: int
    new: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Splice:
    """An edit whose new lines have their line ends."""

    start: int
    end: int
    new: tuple[str, ...]


def decode(data: bytes) -> str:
    """Read text so that bytes which are not UTF-8 survive unchanged."""
    return data.decode("utf-8", "surrogateescape")


def encode(text: str) -> bytes:
    """Undo `decode`.

    Raises:
        PatchError: The text holds half of a surrogate pair.
    """
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise PatchError(f"The patch holds text that is not Unicode: {error.reason}") from None


class Document:
    """The lines of a file. Not changed by editing."""

    def __init__(self, text: str) -> None:
        """Split at line feeds only, as everybody else does who counts lines."""
        *whole, last = text.split("\n")
        self.lines = [f"{line}\n" for line in whole]
        if last:
            self.lines.append(last)

    def bodies(self) -> list[str]:
        """The lines without their line ends."""
        return [line.removesuffix("\n").removesuffix("\r") for line in self.lines]

    def splices(self, edits: Iterable[Edit]) -> list[Splice]:
        """Give new lines the line ends of their neighbours, and the file a final one."""
        placed: list[Splice] = []
        floor = 0
        for edit in sorted(
            self._with_final_newline(edits), key=lambda each: (each.start, each.end)
        ):
            start = max(edit.start, floor)
            end = max(edit.end, start)
            ending = self._ending_near(start)
            placed.append(Splice(start, end, tuple(line + ending for line in edit.new)))
            floor = end
        return placed

    def spliced(self, splices: Sequence[Splice]) -> str:
        """The text after the edits."""
        return "".join(self._pieces(splices))

    def _pieces(self, splices: Sequence[Splice]) -> Iterator[str]:
        at = 0
        for splice in splices:
            yield from self.lines[at : splice.start]
            yield from splice.new
            at = splice.end
        yield from self.lines[at:]

    def _with_final_newline(self, edits: Iterable[Edit]) -> list[Edit]:
        edits = list(edits)
        last = len(self.lines) - 1
        is_ragged = last >= 0 and not self.lines[last].endswith("\n")
        if is_ragged and not any(edit.start <= last < edit.end for edit in edits):
            edits.append(Edit(last, last + 1, (self.lines[last],)))
        return edits

    def _ending_near(self, index: int) -> str:
        for near in (index, index - 1, 0):
            if 0 <= near < len(self.lines) and self.lines[near].endswith("\n"):
                return "\r\n" if self.lines[near].endswith("\r\n") else "\n"
        return "\n"
