"""Keeps the last few things that were made, to be found again by what they were made from.

A server opens many threads with equal configurations; what follows from one is worked out once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

K = TypeVar("K")
V = TypeVar("V")


class Recent(Generic[K, V]):
    """A few values by keys that need not be hashable: the very same one, else an equal one."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._kept: list[tuple[K, V]] = []

    def get(self, key: K, make: Callable[[], V]) -> V:
        """Return what is kept for a key, else make and keep it; the oldest one gives way."""
        found = next((each for each in self._kept if each[0] is key), None)
        if found is None:
            found = next((each for each in self._kept if each[0] == key), None)
        if found is None:
            found = key, make()
            self._kept = [*self._kept[1 - self._limit :], found]
        return found[1]

    def pairs(self) -> Sequence[tuple[K, V]]:
        """List what is kept with its keys, oldest first."""
        return tuple(self._kept)
