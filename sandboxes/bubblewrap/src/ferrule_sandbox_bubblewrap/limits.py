"""Bounds on processes, memory and core files of a command, set before it starts.

bubblewrap says which process it has made and waits; the bounds are put on that process and it may
go on. Limits set earlier would be wrong: those on processes would count everything the user runs.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import threading
import time
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from typing import TYPE_CHECKING, Final, NamedTuple

from ferrule_hookspecs.errors import SandboxUnavailableError

if TYPE_CHECKING:
    from ferrule_hookspecs.sandbox import ResolvedPolicy

_CGROUPS: Final = "/sys/fs/cgroup"
_INFO_SIZE: Final = 4096
_PREFIX: Final = "ferrule-"
_numbers = count()
_swept: set[str] = set()
_REMOVALS: Final = 50
_PAUSE_SECONDS: Final = 0.002
_LIMIT_FILES: Final = {
    "pids": ("pids.max",),
    "memory": ("memory.max", "memory.limit_in_bytes"),  # version 2, version 1
}


class _Group(NamedTuple):
    """A control group with its bound; used by one command at a time and kept for the next."""

    path: str
    parent: str
    controller: str
    value: int

    @property
    def key(self) -> tuple[str, str, int]:
        return self.parent, self.controller, self.value


_spare_groups: dict[tuple[str, str, int], list[_Group]] = {}


@dataclass(slots=True)
class Bounds:
    """The bounds of one command and the pipes to set them through.

    Attributes:
        info: What bubblewrap writes the process's number to.
        gate: What bubblewrap waits on.
    """

    processes: int | None
    memory: int | None
    groups: list[_Group] = field(default_factory=list[_Group])
    info: int = -1
    gate: int = -1
    _info_end: int = -1
    _gate_end: int = -1

    def open(self) -> None:
        """Make the pipes."""
        self._info_end, self.info = os.pipe()
        self.gate, self._gate_end = os.pipe()

    def started(self) -> None:
        """Set the bounds as soon as the process is known, without keeping anybody waiting."""
        _close(self.info, self.gate)
        self.info = self.gate = -1
        threading.Thread(target=self._set, name="sandbox-bounds", daemon=True).start()

    def close(self) -> None:
        """Give back the pipes of a command that never started, and the control groups."""
        if self.info != -1:
            _close(self.info, self.gate, self._info_end, self._gate_end)
            self.info = self.gate = -1
        for group in self.groups:
            _spare_groups.setdefault(group.key, []).append(group)
        self.groups.clear()

    def _set(self) -> None:
        pid = 0
        try:
            text = b""
            while not text.endswith(b"}\n") and (piece := os.read(self._info_end, _INFO_SIZE)):
                text += piece
            if text:
                pid = int(json.loads(text)["child-pid"])
                self._bound(pid)
                os.write(self._gate_end, b"x")
        except (BrokenPipeError, ProcessLookupError):
            pass  # it has ended already, for a reason of its own
        except (OSError, ValueError):
            if pid:  # bubblewrap would go on at the end of the pipe, and without its bounds
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            raise
        finally:
            _close(self._info_end, self._gate_end)

    def _bound(self, pid: int) -> None:
        resource.prlimit(pid, resource.RLIMIT_CORE, (0, 0))
        if self.processes is not None:
            _lower(pid, resource.RLIMIT_NPROC, self.processes)
        if self.memory is not None and "memory" not in {group.controller for group in self.groups}:
            _lower(pid, resource.RLIMIT_AS, self.memory)
        for group in self.groups:
            _write(f"{group.path}/cgroup.procs", str(pid))


def bounds_for(policy: ResolvedPolicy) -> Bounds:
    """Make the bounds a policy asks for, with control groups where this process may make them.

    Raises:
        SandboxUnavailableError: A control group cannot be made although it should.
    """
    bounds = Bounds(policy.max_processes, policy.max_memory_bytes)
    for controller, value in (("pids", bounds.processes), ("memory", bounds.memory)):
        parent = _group_parents(os.geteuid()).get(controller)
        if value is not None and parent is not None:
            spare = _spare_groups.get((parent, controller, value))
            try:
                group = spare.pop() if spare else _make_group(parent, controller, value)
            except OSError as error:
                bounds.close()
                raise SandboxUnavailableError(
                    f"no control group can be made in {parent}: {error.strerror}; make room there"
                ) from error
            bounds.groups.append(group)
    return bounds


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


def _make_group(parent: str, controller: str, value: int) -> _Group:
    if parent not in _swept:
        _swept.add(parent)
        for name in os.listdir(parent):
            maker = name.removeprefix(_PREFIX).partition("-")[0]
            if name.startswith(_PREFIX) and not os.path.exists(f"/proc/{maker}"):
                _remove(f"{parent}/{name}")
    while True:
        group = _Group(
            f"{parent}/{_PREFIX}{os.getpid()}-{next(_numbers)}", parent, controller, value
        )
        try:
            os.mkdir(group.path)
        except FileExistsError:
            continue  # of a killed process that had our number
        limits = (f"{group.path}/{name}" for name in _LIMIT_FILES[controller])
        _write(next(limit for limit in limits if os.path.exists(limit)), str(value))
        return group


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


def _lower(pid: int, limit: int, value: int) -> None:
    _, hard = resource.prlimit(pid, limit)
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    resource.prlimit(pid, limit, (value, value))


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def _close(*descriptors: int) -> None:
    for descriptor in descriptors:
        os.close(descriptor)
