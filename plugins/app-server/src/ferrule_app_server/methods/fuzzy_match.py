"""Scores paths against what a person typed: letters in order, best where they stand together."""

from __future__ import annotations

import re
from heapq import nsmallest
from itertools import pairwise
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
    places = _spread(path, wanted)
    adjacent = sum(b - a == 1 for a, b in pairwise(places))
    edges = sum(place == 0 or path[place - 1] in _EDGES for place in places)
    in_name = sum(place >= name for place in places)
    score = _LETTER * edges + _ADJACENT * adjacent + in_name * 5
    return max(1, score + len(wanted) - (places[-1] - places[0]) // 4), places


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


def _spread(path: str, wanted: str) -> list[int]:
    """Place letters that do not stand together: as late as they can, then as near as they can."""
    end = len(path)
    for letter in reversed(wanted):
        end = path.rfind(letter, 0, end)
    places: list[int] = []
    at = end
    for letter in wanted:
        at = path.find(letter, at)
        places.append(at)
        at += 1
    return places
