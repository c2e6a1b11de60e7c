"""Bounds on processes and memory through control groups, where this process may make them.

Root is exempt from the limit on processes that everybody else has, so that for root there is
nothing else. A group is used by one command at a time and kept for the next.
"""

from __future__ import annotations

import os
import time
from functools import cache
from itertools import count
from typing import TYPE_CHECKING, Final, NamedTuple

from ferrule_hookspecs.errors import SandboxUnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ferrule_hookspecs.sandbox import ResolvedPolicy

_CGROUPS: Final = "/sys/fs/cgroup"
_PREFIX: Final = "ferrule-"
_numbers = count()
_swept: set[str] = set()
_REMOVALS: Final = 50
_PAUSE_SECONDS: Final = 0.002
_LIMIT_FILES: Final = {
    "pids": ("pids.max",),
    "memory": ("memory.max", "memory.limit_in_bytes"),  # version 2, version 1
}
# Without these, what exceeds the bound would go on in swap space. A machine may lack them.
_SWAP_FILES: Final = (("memory.swap.max", "0"), ("memory.memsw.limit_in_bytes", None))


class ControlGroup(NamedTuple):
    """A control group with its bound."""

    path: str
    parent: str
    controller: str
    value: int

    @property
    def members(self) -> str:
        """The file that a process is put into the group through."""
        return f"{self.path}/cgroup.procs"

    @property
    def key(self) -> tuple[str, str, int]:
        """What makes two groups interchangeable."""
        return self.parent, self.controller, self.value


_spare_groups: dict[tuple[str, str, int], list[ControlGroup]] = {}


def take_groups(policy: ResolvedPolicy) -> list[ControlGroup]:
    """Make the groups a policy asks for, where that is possible; give them back afterwards.

    Raises:
        SandboxUnavailableError: A group cannot be made although it should.
    """
    groups: list[ControlGroup] = []
    wanted = (("pids", policy.max_processes), ("memory", policy.max_memory_bytes))
    for controller, value in wanted:
        parent = _group_parents(os.geteuid()).get(controller)
        if value is not None and parent is not None:
            spare = _spare_groups.get((parent, controller, value))
            try:
                group = spare.pop() if spare else _make_group(parent, controller, value)
            except OSError as error:
                give_back(groups)
                raise SandboxUnavailableError(
                    f"no control group can be made in {parent}: {error.strerror}; make room there"
                ) from error
            groups.append(group)
    return groups


def give_back(groups: Iterable[ControlGroup]) -> None:
    """Keep the groups of an ended command for the next one."""
    for group in groups:
        _spare_groups.setdefault(group.key, []).append(group)


def remove_groups() -> None:
    """Remove the control groups that are kept for the next command.

    The kernel takes a moment to empty the group of a command that has ended. What stays busy is
    removed by the next session, as is what a killed one leaves.
    """
    groups = [group for spares in _spare_groups.values() for group in spares]
    _spare_groups.clear()
    for _ in range(_REMOVALS):
        groups = [group for group in groups if not _remove(group.path)]
        if not groups:
            return
        time.sleep(_PAUSE_SECONDS)


def _make_group(parent: str, controller: str, value: int) -> ControlGroup:
    if parent not in _swept:
        _swept.add(parent)
        for name in os.listdir(parent):
            maker = name.removeprefix(_PREFIX).partition("-")[0]
            if name.startswith(_PREFIX) and not os.path.exists(f"/proc/{maker}"):
                _remove(f"{parent}/{name}")
    while True:
        group = ControlGroup(
            f"{parent}/{_PREFIX}{os.getpid()}-{next(_numbers)}", parent, controller, value
        )
        try:
            os.mkdir(group.path)
        except FileExistsError:
            continue  # of a killed process that had our number
        limits = (f"{group.path}/{name}" for name in _LIMIT_FILES[controller])
        with open(next(limit for limit in limits if os.path.exists(limit)), "w") as file:
            file.write(str(value))
        if controller == "memory":
            _forbid_swap(group)
        return group


def _forbid_swap(group: ControlGroup) -> None:
    for name, content in _SWAP_FILES:
        path = f"{group.path}/{name}"
        if os.path.exists(path):
            with open(path, "w", encoding="ascii") as file:
                file.write(content or str(group.value))


def _remove(path: str) -> bool:
    try:
        os.rmdir(path)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


@cache
def _group_parents(user: int) -> dict[str, str]:
    """Where a user may make control groups, by controller; mostly nowhere but for root."""
    parents: dict[str, str] = {}
    try:
        with open("/proc/self/cgroup", encoding="utf-8") as file:
            lines = [line.rstrip("\n").split(":", 2) for line in file]
    except OSError:
        return parents
    for _, controllers, path in lines:
        if controllers:
            candidates = {name: f"{_CGROUPS}/{name}{path}" for name in controllers.split(",")}
        else:  # version 2: a group with processes of its own cannot have bounded children
            parent = f"{_CGROUPS}{os.path.dirname(path)}".rstrip("/")
            candidates = dict.fromkeys(_delegated(parent), parent) if path != "/" else {}
        for name in ("pids", "memory"):
            folder = candidates.get(name, "").rstrip("/")
            if folder and os.access(folder, os.W_OK):
                parents[name] = folder
    return parents


def bounds_processes() -> bool:
    """Whether processes can be bounded here: root is exempt from the limit everybody else has."""
    return os.geteuid() != 0 or "pids" in _group_parents(os.geteuid())


def _delegated(folder: str) -> list[str]:
    try:
        with open(f"{folder}/cgroup.subtree_control", encoding="ascii") as file:
            return file.read().split()
    except OSError:
        return []
