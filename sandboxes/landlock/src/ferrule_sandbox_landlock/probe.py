"""Tries out whether Landlock works here, and says what it does not confine."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from ferrule_confinement.landlock import landlock_version
from ferrule_confinement.seccomp import is_supported
from ferrule_hookspecs.errors import SandboxUnavailableError
from ferrule_hookspecs.sandbox import Command, ResolvedPolicy

if TYPE_CHECKING:
    from ferrule_hookspecs.sandbox import Launch

_TRIAL_SECONDS: Final = 10
_TRIAL: Final = Command(("/bin/sh", "-c", "exit 0"), "/", {"PATH": "/usr/bin:/bin"})
_MEMFD_SWITCH: Final = "/proc/sys/vm/memfd_noexec"
_LINKS_SINCE, _SIGNALS_SINCE = 2, 6


class Finding(NamedTuple):
    """Whether it works here, and how or why not, with the mend."""

    works: bool
    reason: str


class Launcher(Protocol):
    """What the trial needs of the backend."""

    def launch(self, policy: ResolvedPolicy, command: Command) -> Launch:
        """Build a launch without a probe."""
        ...


def examine(launcher: Launcher, *, local_sockets: bool) -> Finding:
    """Look at the kernel and run something in the sandbox."""
    if sys.platform != "linux":
        return Finding(False, "Landlock is part of Linux only; choose another sandbox_backend")
    if not is_supported():
        return Finding(False, "landlock is used on x86_64 and aarch64 only; choose another backend")
    version = landlock_version()
    if version == 0:
        return Finding(
            False,
            "the kernel has no Landlock or it is switched off; add landlock to the kernel's"
            " parameter `lsm`, use Linux 5.13 or newer, or install bubblewrap",
        )
    failure = _try(launcher)
    if failure is not None:
        return Finding(False, f"Landlock does not work here: {failure}")
    return Finding(True, _description(version, local_sockets=local_sockets))


def _try(launcher: Launcher) -> str | None:
    """Run a shell in the sandbox; returns what went wrong."""
    try:
        launch = launcher.launch(ResolvedPolicy("read-only", "/"), _TRIAL)
    except SandboxUnavailableError as error:
        return f"{error}{_memory_mend()}"
    failure: str | None = None
    try:
        ended = subprocess.run(
            launch.argv,
            env=dict(launch.env),
            cwd=launch.cwd,
            pass_fds=launch.pass_fds,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_TRIAL_SECONDS,
            check=False,
        )
        if ended.returncode:
            failure = f"a trial ended with exit code {ended.returncode}"
    except (OSError, subprocess.TimeoutExpired) as error:
        failure = f"{error}{_memory_mend()}"
    try:
        if launch.cleanup is not None:
            launch.cleanup()
    except SandboxUnavailableError as error:
        failure = str(error)
    return failure


def _memory_mend() -> str:
    """Name the one switch that is known to forbid programs in memory."""
    try:
        with open(_MEMFD_SWITCH, encoding="ascii") as file:
            is_forbidden = int(file.read()) > 1
    except (OSError, ValueError):
        is_forbidden = False
    return "; set vm.memfd_noexec to 1 or less" if is_forbidden else ""


def _description(version: int, *, local_sockets: bool) -> str:
    open_ways = [
        "protected places and names in folders that may be written",
        "permissions, owners and times of your files in workspace-write",
        "the sight of other processes",
        "shared memory in /dev/shm and other terminals of yours",
        "the names in unreadable folders",
    ]
    if local_sockets:
        open_ways.append("sockets of local services")
    if version < _SIGNALS_SINCE:
        open_ways.append("signals to other processes of yours")
    text = f"Landlock (version {version}) and a system call filter; not confined are: "
    text += ", ".join(open_ways)
    if version < _LINKS_SINCE:
        text += ". Files cannot be moved between folders"
    return text
