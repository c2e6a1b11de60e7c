"""What sessions that ended may have left behind: processes of commands that still run."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from ferrule_hookspecs.hooks import Check

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ferrule.doctor.examination import Examination

_MARK: Final = b"FERRULE_THREAD_ID="
_SHOWN: Final = 5


class _Process(NamedTuple):
    """A running process."""

    pid: int
    parent: int
    name: str
    is_marked: bool


def checks(examination: Examination) -> Iterator[Check]:
    """Look for processes of commands whose kernel is gone."""
    if not os.path.isdir("/proc/self"):
        yield Check("leftovers.processes", "skip", "processes cannot be listed here")
        return
    orphans = _orphans()
    if not orphans:
        yield Check("leftovers.processes", "ok", "no command of an ended session still runs")
        return
    shown = ", ".join(f"{process.name} ({process.pid})" for process in orphans[:_SHOWN])
    more = f" and {len(orphans) - _SHOWN} more" if len(orphans) > _SHOWN else ""
    yield Check(
        "leftovers.processes",
        "warn",
        f"commands of ended sessions still run: {shown}{more}",
        f"if you did not mean them to stay: kill {' '.join(str(p.pid) for p in orphans)}",
    )


def _orphans() -> list[_Process]:
    """Commands of the model whose line of parents ends at the first process."""
    table = {process.pid: process for process in _processes()}
    own = _line(os.getpid(), table)
    found: list[_Process] = []
    for process in table.values():
        if not process.is_marked or process.pid in own:
            continue
        top = process
        while (parent := table.get(top.parent)) is not None and parent.is_marked:
            top = parent
        holder = table.get(top.parent)
        if top.parent <= 1 and not (holder is not None and "ferrule" in holder.name):
            found.append(process)
    return sorted(found)


def _line(pid: int, table: dict[int, _Process]) -> set[int]:
    line: set[int] = set()
    while pid in table and pid not in line:
        line.add(pid)
        pid = table[pid].parent
    return line


def _processes() -> Iterator[_Process]:
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            before, _, after = (folder / "stat").read_text("utf-8", "replace").rpartition(")")
            name, parent = before.partition("(")[2], int(after.split()[1])
        except (OSError, IndexError):
            continue  # it ended meanwhile
        yield _Process(int(folder.name), parent, name, _is_marked(folder))


def _is_marked(folder: Path) -> bool:
    try:
        return _MARK in (folder / "environ").read_bytes()
    except OSError:  # another user's
        return False
