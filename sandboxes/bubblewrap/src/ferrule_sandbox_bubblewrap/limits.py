"""Bounds on processes, memory and core files of a command, set before it starts.

bubblewrap says which process it has made and waits; the bounds are put on that process and it may
go on. Limits set earlier would be wrong: those on processes would count everything the user runs.
"""

from __future__ import annotations

import _thread
import contextlib
import fcntl
import json
import os
import resource
import select
import signal
import termios
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from ferrule_confinement.control_groups import ControlGroup, give_back, take_groups
from ferrule_sandbox_bubblewrap.doors import DoorError

if TYPE_CHECKING:
    from collections.abc import Callable

    from ferrule_hookspecs.sandbox import ResolvedPolicy

_INFO_SIZE: Final = 4096
_INT_SIZE: Final = 4
_PATIENCE_MS: Final = 1000


@dataclass(slots=True)
class Bounds:
    """The bounds of one command and the pipes to set them through.

    Attributes:
        info: What bubblewrap writes the process's number to.
        gate: What bubblewrap waits on.
        opening: Makes the way to the network, given the process and its network namespace.
        when_up: Called as soon as the sandbox is set up.
        failure: Why the command was not started; empty where it was.
        stands: Set once it is known whether the sandbox was set up.
        is_up: Whether it was.
    """

    processes: int | None
    memory: int | None
    groups: list[ControlGroup] = field(default_factory=list[ControlGroup])
    info: int = -1
    gate: int = -1
    opening: Callable[[int, int | None], None] | None = None
    when_up: Callable[[], None] | None = None
    failure: str = ""
    stands: threading.Event = field(default_factory=threading.Event)
    is_up: bool = False
    _info_end: int = -1
    _gate_end: int = -1
    _process: int = -1
    _is_over: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def open(self) -> None:
        """Make the pipes."""
        self._info_end, self.info = os.pipe()
        self.gate, self._gate_end = os.pipe()

    def started(self) -> None:
        """Set the bounds as soon as the process is known, without keeping anybody waiting."""
        _close(self.info, self.gate)
        self.info = self.gate = -1
        # A `Thread` would have the caller wait until it runs.
        _thread.start_new_thread(self._set, ())

    def close(self) -> None:
        """End what is left of the sandbox; give back pipes of what never started, and groups."""
        if self.info != -1:
            _close(self.info, self.gate, self._info_end, self._gate_end)
            self.info = self.gate = -1
        with self._lock:
            self._is_over = True
            self._end()
        give_back(self.groups)
        self.groups.clear()

    def _set(self) -> None:
        pid = 0
        try:
            text = b""
            while not text.endswith(b"}\n") and (piece := os.read(self._info_end, _INFO_SIZE)):
                text += piece
            if text:
                facts = json.loads(text)
                pid = int(facts["child-pid"])
                self._take(pid)
                self._bound(pid)
                if self.opening is not None:
                    self.opening(pid, facts.get("net-namespace"))
                os.write(self._gate_end, b"x")
                self.is_up = _is_taken(self._gate_end)
                if self.when_up is not None:
                    self.when_up()
        except (BrokenPipeError, ProcessLookupError):
            pass  # it has ended already, for a reason of its own
        except DoorError as error:
            self.failure = str(error)
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        except (OSError, ValueError):
            if pid:  # bubblewrap would go on at the end of the pipe, and without its bounds
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            raise
        finally:
            _close(self._info_end, self._gate_end)
            self.stands.set()

    def _take(self, pid: int) -> None:
        """Have hold of the sandbox's first process, whoever gets its number later."""
        with self._lock:
            self._process = os.pidfd_open(pid)
            if self._is_over:
                self._end()

    def _end(self) -> None:
        """Kill the sandbox that bubblewrap has left: killed itself, it may not take it along.

        One that is still set up must be gone before stand-ins are, because it makes what it mounts
        on where that is missing.
        """
        process, self._process = self._process, -1
        if process == -1:
            return
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(process, signal.SIGKILL)
            if not self.is_up:
                end = select.poll()
                end.register(process, select.POLLIN)
                end.poll(_PATIENCE_MS)
        os.close(process)

    def _bound(self, pid: int) -> None:
        resource.prlimit(pid, resource.RLIMIT_CORE, (0, 0))
        if self.processes is not None:
            _lower(pid, resource.RLIMIT_NPROC, self.processes)
        if self.memory is not None and "memory" not in {group.controller for group in self.groups}:
            _lower(pid, resource.RLIMIT_AS, self.memory)
        for group in self.groups:
            _write(group.members, str(pid))


def bounds_for(policy: ResolvedPolicy) -> Bounds:
    """Make the bounds a policy asks for, with control groups where this process may make them.

    Raises:
        SandboxUnavailableError: A control group cannot be made although it should.
    """
    return Bounds(policy.max_processes, policy.max_memory_bytes, take_groups(policy))


def _is_taken(pipe: int) -> bool:
    """Wait until nobody can read a pipe any more; tells whether what we wrote was read."""
    poll = select.poll()
    poll.register(pipe, 0)  # only the end of its readers
    poll.poll()
    left = bytearray(_INT_SIZE)
    fcntl.ioctl(pipe, termios.FIONREAD, left)
    return not any(left)


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
