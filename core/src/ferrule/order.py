"""Puts the plugins that serve a hook into the order they declare, the same on every machine.

Names break ties, never the order of installation. Called by the dispatcher and `plugins order`.
"""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ferrule.entry import Entry

Edge = tuple[str, str]


def declared_order(
    entries: Sequence[Entry], report: Callable[[str], None] = lambda _: None
) -> list[Entry]:
    """Sort entries so that every `before`, `after` and `outermost` holds.

    A cycle is broken by leaving out one constraint of it, which is reported.
    """
    by_name = {entry.name: entry for entry in sorted(entries, key=_rank)}
    edges = _edges(by_name)
    while True:
        try:
            return [by_name[name] for name in _sorted(by_name, edges)]
        except CycleError as error:
            cycle: list[str] = error.args[1]
            edge = max(pair for pair in pairwise(cycle) if pair in edges)
            edges.discard(edge)
            report(
                f"plugins {edge[0]!r} and {edge[1]!r} cannot be ordered: the wish that "
                f"{edge[0]!r} comes before {edge[1]!r} closes the circle {' < '.join(cycle)} and "
                "is ignored; change FERRULE_ORDER in one of them"
            )


def _rank(entry: Entry) -> tuple[bool, str]:
    return not (entry.probe and entry.probe.is_outermost), entry.name


def _edges(by_name: dict[str, Entry]) -> set[Edge]:
    """Collect pairs of names of which the first comes first; names may be distributions."""
    edges: set[Edge] = set()
    for name, entry in by_name.items():
        if entry.probe is None:
            continue
        for other in _meant(entry.probe.before, by_name):
            edges.add((name, other))
        for other in _meant(entry.probe.after, by_name):
            edges.add((other, name))
    return {(first, second) for first, second in edges if first != second}


def _meant(wanted: Sequence[str], by_name: dict[str, Entry]) -> list[str]:
    return [
        name for name, entry in by_name.items() if name in wanted or entry.distribution in wanted
    ]


def _sorted(by_name: dict[str, Entry], edges: set[Edge]) -> list[str]:
    sorter: TopologicalSorter[str] = TopologicalSorter({name: [] for name in by_name})
    for first, second in sorted(edges):
        sorter.add(second, first)
    sorter.prepare()
    ranks = {name: position for position, name in enumerate(by_name)}
    ready = set(sorter.get_ready())
    ordered: list[str] = []
    while ready:
        first = min(ready, key=ranks.__getitem__)
        ready.remove(first)
        ordered.append(first)
        sorter.done(first)
        ready.update(sorter.get_ready())
    return ordered
