"""Scores paths against what a person typed: letters in order, best where they stand together."""

from __future__ import annotations

import re
from heapq import nsmallest
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ferrule_app_server.methods.file_listing import Listed

_BATCH: Final = 4096
_EDGES: Final = "/_-. "
_IN_NAME: Final = 1000
_IN_PATH: Final = 700
_WHOLE_NAME: Final = 200
_AT_START: Final = 100
_AT_EDGE: Final = 50
_LETTER: Final = 10
_ADJACENT: Final = 15
_NAMED: Final = 5


class Match(NamedTuple):
    """A path that fits; `indices` are the places of the letters in it."""

    listed: Listed
    score: int
    indices: tuple[int, ...]


class FuzzyIndex:
    """Paths, ready to be searched again and again."""

    def __init__(self, listed: Sequence[Listed]) -> None:
        """Keep the paths, and their lower case."""
        self._listed = listed
        self._lower = [_lower(entry.path) for entry in listed]

    def search(self, query: str, limit: int, is_cancelled: Callable[[], bool]) -> list[Match]:
        """Return the best matches, best first; fewer where it is cancelled."""
        wanted = "".join(query.lower().split())
        if not wanted:
            return []
        fits = re.compile("".join(f"[^{re.escape(c)}]*{re.escape(c)}" for c in wanted)).match
        scored: list[tuple[int, int, str, int]] = []
        for start in range(0, len(self._lower), _BATCH):
            if is_cancelled():
                return []
            for number, path in enumerate(self._lower[start : start + _BATCH], start):
                if fits(path):
                    value = _scored(path, wanted)[0]
                    scored.append((-value, len(path), path, number))
        return [
            Match(self._listed[number], -value, tuple(_scored(path, wanted)[1]))
            for value, _, path, number in nsmallest(limit, scored)
        ]


def _lower(path: str) -> str:
    """Return the path in lower case, letter by letter, so that places stay the same."""
    lower = path.lower()
    return lower if len(lower) == len(path) else path


def _scored(path: str, wanted: str) -> tuple[int, Sequence[int]]:
    name = path.rfind("/") + 1
    at = _place(path, wanted, name)
    if at >= 0:
        rest = len(path) - name - len(wanted)
        score = _IN_NAME - min(rest, _AT_EDGE)
        score += _AT_START * (at == name) + _WHOLE_NAME * (rest == 0)
        return score + _edge(path, at), range(at, at + len(wanted))
    at = _place(path, wanted, 0)
    if at >= 0:
        return _IN_PATH + _edge(path, at), range(at, at + len(wanted))
    return _spread(path, wanted, name)


def _place(path: str, wanted: str, start: int) -> int:
    """Find the letters together, at the beginning of a word where they are there."""
    first = at = path.find(wanted, start)
    while at > 0:
        if path[at - 1] in _EDGES:
            return at
        at = path.find(wanted, at + 1)
    return at if at == 0 else first


def _edge(path: str, at: int) -> int:
    return _AT_EDGE if at == 0 or path[at - 1] in _EDGES else 0


def _spread(path: str, wanted: str, name: int) -> tuple[int, Sequence[int]]:
    """Place letters that do not stand together, each as late as it can; one pass, for speed."""
    places: list[int] = []
    score = len(wanted)
    at = len(path) + 1
    for letter in reversed(wanted):
        before, at = at, path.rfind(letter, 0, at)
        if before - at == 1:
            score += _ADJACENT
        if at == 0 or path[at - 1] in _EDGES:
            score += _LETTER
        if at >= name:
            score += _NAMED
        places.append(at)
    places.reverse()
    score -= (places[-1] - at) // 4
    return min(max(1, score), _IN_PATH - 1), places
