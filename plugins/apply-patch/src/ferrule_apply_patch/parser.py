"""Reads the text of a patch into its sections; knows nothing about files.

Line numbers in messages count from the line `*** Begin Patch`, which is line 1.
"""

from __future__ import annotations

import re
from typing import Final, Literal, NamedTuple, cast

from ferrule_hookspecs.errors import ToolError

BEGIN: Final = "*** Begin Patch"
END: Final = "*** End Patch"
ADD: Final = "*** Add File: "
DELETE: Final = "*** Delete File: "
UPDATE: Final = "*** Update File: "
MOVE: Final = "*** Move to: "
END_OF_FILE: Final = "*** End of File"

_HEREDOC_START = re.compile(r"""<<\s*(['"]?)(\w+)\1$""")

LineKind = Literal[" ", "-", "+"]


class PatchError(ToolError):
    """The patch is malformed or does not fit the files; the message goes to the model."""


class Chunk(NamedTuple):
    """Lines that belong together in an update.

    Attributes:
        place: A line to look for first; the chunk applies below it.
        lines: What to keep, remove and add, in order.
        at_end: The chunk must match at the end of the file.
    """

    place: str | None
    lines: tuple[tuple[LineKind, str], ...]
    at_end: bool = False


class AddFile(NamedTuple):
    """Gives a file this text, whether or not it exists."""

    path: str
    text: str


class DeleteFile(NamedTuple):
    """Removes a file."""

    path: str


class UpdateFile(NamedTuple):
    """Changes a file and perhaps moves it."""

    path: str
    move_to: str | None
    chunks: tuple[Chunk, ...]


Section = AddFile | DeleteFile | UpdateFile


def parse(text: str) -> tuple[Section, ...]:
    """Read a patch.

    Args:
        text: The patch, perhaps inside the here-document a shell would have read it from.

    Returns:
        The sections in order; none for an empty patch.

    Raises:
        PatchError: The text is not a patch.
    """
    lines = _without_heredoc([line.removesuffix("\r") for line in text.strip().split("\n")])
    if lines[0].strip() != BEGIN:
        raise PatchError(f"invalid patch: The first line of the patch must be '{BEGIN}'")
    if len(lines) < 2 or lines[-1].strip() != END:
        raise PatchError(f"invalid patch: The last line of the patch must be '{END}'")
    return _Reader(lines[:-1]).sections()


def _without_heredoc(lines: list[str]) -> list[str]:
    start = _HEREDOC_START.match(lines[0].strip())
    if start and len(lines) >= 4 and lines[-1].strip() == start[2]:
        return lines[1:-1]
    return lines


class _Reader:
    """Walks over the lines between the first and the last."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._at = 1

    def sections(self) -> tuple[Section, ...]:
        found: list[Section] = []
        while (line := self._peek()) is not None:
            if line.strip():
                found.append(self._section(line.strip()))
            else:
                self._at += 1
        return tuple(found)

    def _peek(self) -> str | None:
        return self._lines[self._at] if self._at < len(self._lines) else None

    def _error(self, message: str, number: int | None = None) -> PatchError:
        return PatchError(f"invalid hunk at line {number or self._at + 1}, {message}")

    def _section(self, header: str) -> Section:
        if header.startswith(ADD.rstrip()):
            return AddFile(self._path(header, ADD), self._added())
        if header.startswith(DELETE.rstrip()):
            return DeleteFile(self._path(header, DELETE))
        if header.startswith(UPDATE.rstrip()):
            return self._update(header)
        raise self._error(
            f"'{header}' is not a valid hunk header. Valid hunk headers: "
            "'*** Add File: {path}', '*** Delete File: {path}', '*** Update File: {path}'"
        )

    def _path(self, header: str, prefix: str) -> str:
        path = header.removeprefix(prefix.rstrip()).strip()
        if not path or "\0" in path:
            raise self._error(f"'{header}' names no file")
        self._at += 1
        return path

    def _added(self) -> str:
        start = self._at
        while (line := self._peek()) is not None and line.startswith("+"):
            self._at += 1
        return "".join(f"{line[1:]}\n" for line in self._lines[start : self._at])

    def _update(self, header: str) -> UpdateFile:
        number = self._at + 1
        path = self._path(header, UPDATE)
        move_to = None
        line = self._peek()
        if line is not None and line.strip().startswith(MOVE.rstrip()):
            move_to = self._path(line.strip(), MOVE)
        chunks: list[Chunk] = []
        while (line := self._peek()) is not None and not line.startswith("***"):
            if line.strip() or not chunks:
                chunks.append(self._chunk(line, is_first=not chunks))
            else:
                self._at += 1
        if not chunks:
            raise self._error(f"Update file hunk for path '{path}' is empty", number)
        return UpdateFile(path, move_to, tuple(chunks))

    def _chunk(self, line: str, *, is_first: bool) -> Chunk:
        place = None
        marker = line.rstrip()
        if marker == "@@" or marker.startswith("@@ "):
            place = marker[3:] or None
            self._at += 1
        elif not is_first:
            raise self._error(
                f"Expected update hunk to start with a @@ context marker, got: '{line}'"
            )
        lines = self._changed()
        at_end = self._peek() == END_OF_FILE
        if not lines:
            raise self._error("Update hunk does not contain any lines")
        if at_end:
            self._at += 1
        return Chunk(place, lines, at_end)

    def _changed(self) -> tuple[tuple[LineKind, str], ...]:
        lines: list[tuple[LineKind, str]] = []
        while (line := self._peek()) is not None and not line.startswith("***"):
            if line[:1] in {"", " ", "-", "+"}:
                # An empty line stands for an empty line of context: its blank got lost on the way.
                lines.append((cast("LineKind", line[:1] or " "), line[1:]))
            elif lines:
                break
            else:
                raise self._error(
                    f"Unexpected line found in update hunk: '{line}'. Every line should start "
                    "with ' ' (context line), '+' (added line), or '-' (removed line)"
                )
            self._at += 1
        return tuple(lines)
