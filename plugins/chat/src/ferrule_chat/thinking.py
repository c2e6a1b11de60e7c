"""Parts the reasoning that a model writes between tags from its answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

_OPENERS: Final = ("<think>", "<thinking>")
_CLOSERS: Final = {"<think>": "</think>", "<thinking>": "</thinking>"}


class Said(NamedTuple):
    """A piece of reasoning or of the answer."""

    kind: Literal["reasoning", "answer"]
    text: str


class ThinkTags:
    """Takes content apart while it arrives.

    `leading` looks for a tag before anything else is said; `open` expects the answer to begin
    inside of one, as some chat templates leave it; `off` takes everything for the answer.
    """

    def __init__(self, mode: Literal["off", "leading", "open"]) -> None:
        """Start before the first piece."""
        self._closer = _CLOSERS["<think>"] if mode == "open" else ""
        self._is_undecided = mode == "leading"
        self._held = ""

    def feed(self, text: str) -> list[Said]:
        """Take more content."""
        return [said for said in self._parts(self._held + text) if said.text]

    def end(self) -> list[Said]:
        """Hand out what was held back."""
        held, self._held = self._held, ""
        kind = "reasoning" if self._closer else "answer"
        return [Said(kind, held)] if held else []

    def _parts(self, text: str) -> Iterator[Said]:
        self._held = ""
        if self._is_undecided:
            start = text.lstrip()
            if not start or any(opener.startswith(start) for opener in _OPENERS):
                self._held = text
                return
            self._is_undecided = False
            opener = next((each for each in _OPENERS if start.startswith(each)), "")
            self._closer = _CLOSERS.get(opener, "")
            text = start.removeprefix(opener) if opener else text
        if not self._closer:
            yield Said("answer", text)
            return
        before, closer, after = text.partition(self._closer)
        if closer:
            self._closer = ""
            yield Said("reasoning", before)
            yield Said("answer", after)
            return
        kept = _possible_start(before, self._closer)
        self._held = before[len(before) - kept :]
        yield Said("reasoning", before[: len(before) - kept])


def _possible_start(text: str, tag: str) -> int:
    """How many letters at the end of a text may be the beginning of a tag."""
    longest = min(len(tag) - 1, len(text))
    return next((size for size in range(longest, 0, -1) if text.endswith(tag[:size])), 0)
