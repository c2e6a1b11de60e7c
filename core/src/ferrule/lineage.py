"""Who descends from whom on this machine, read from `/proc`; used to end what a command started."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple


class ProcessFacts(NamedTuple):
    """One line of the process table."""

    pid: int
    parent: int
    session: int
    is_zombie: bool


def process_table() -> list[ProcessFacts]:
    """Read the process table; empty where there is no `/proc`."""
    try:
        names = os.listdir("/proc")
    except OSError:
        return []
    return [facts for name in names if name.isdigit() and (facts := _facts(int(name)))]


def _facts(pid: int) -> ProcessFacts | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            text = file.read()
    except OSError:
        return None
    # The command's name stands in parentheses and may itself hold spaces and parentheses.
    state, parent, _group, session = text[text.rindex(b")") + 2 :].split(maxsplit=4)[:4]
    return ProcessFacts(pid, int(parent), int(session), state in (b"Z", b"X"))


def descendants(table: Iterable[ProcessFacts], ancestor: int) -> list[int]:
    """Return every living descendant of a process, parents before children."""
    children: defaultdict[int, list[int]] = defaultdict(list)
    for facts in table:
        if not facts.is_zombie:
            children[facts.parent].append(facts.pid)
    found: list[int] = []
    queue = list(children[ancestor])
    while queue:
        pid = queue.pop()
        found.append(pid)
        queue.extend(children[pid])
    return found
