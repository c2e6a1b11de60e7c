"""Okapi BM25 over short texts, small enough to read; a library would bring NumPy along."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_SATURATION: Final = 1.2
_LENGTH_SHARE: Final = 0.75


class Ranking:
    """Ranks documents, each given as its words; a word that counts more is there several times."""

    def __init__(self, documents: Sequence[Sequence[str]]) -> None:
        """Count the words once; a search then only looks at documents that hold one of them."""
        self._lengths = [len(document) for document in documents]
        self._mean = sum(self._lengths) / len(documents) if documents else 0.0
        self._places: dict[str, list[tuple[int, int]]] = {}
        for number, document in enumerate(documents):
            for word, count in Counter(document).items():
                self._places.setdefault(word, []).append((number, count))

    def scores(self, query: Iterable[str]) -> dict[int, float]:
        """Return the score of every document that holds a word of the query, by its number."""
        scores: dict[int, float] = {}
        for word in dict.fromkeys(query):
            places = self._places.get(word, [])
            rarity = self._rarity(len(places))
            for number, count in places:
                scores[number] = scores.get(number, 0.0) + rarity * self._weight(number, count)
        return scores

    def best(self, query: Iterable[str], limit: int) -> list[int]:
        """Return the numbers of the best documents, best first, the earlier one of equals."""
        scores = self.scores(query)
        return sorted(scores, key=lambda number: (-scores[number], number))[:limit]

    def _rarity(self, holders: int) -> float:
        return math.log(1 + (len(self._lengths) - holders + 0.5) / (holders + 0.5))

    def _weight(self, number: int, count: int) -> float:
        length = self._lengths[number] / self._mean
        softened = count + _SATURATION * (1 - _LENGTH_SHARE + _LENGTH_SHARE * length)
        return count * (_SATURATION + 1) / softened
