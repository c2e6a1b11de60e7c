"""Tries out whether Seatbelt works here: that a command runs, and that it cannot write outside."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from ferrule_hookspecs.sandbox import Command, ResolvedPolicy
from ferrule_sandbox_seatbelt.private_scratch import make_scratch, remove_scratch

if TYPE_CHECKING:
    from ferrule_hookspecs.sandbox import Launch

PROGRAM: Final = "/usr/bin/sandbox-exec"
"""Never looked for in PATH: whoever could put another one there would be the sandbox."""

UNPROVED: Final = "the backend is not yet proved on a real machine"
_TRIAL_SECONDS: Final = 10
_LEAK: Final = 77
_TRIAL: Final = f'echo x > "$1/leak" && exit {_LEAK}; exit 0'


class Finding(NamedTuple):
    """Whether it works here, and how or why not, with the mend."""

    works: bool
    reason: str


class Launcher(Protocol):
    """What the trial needs of the backend."""

    def launch(self, policy: ResolvedPolicy, command: Command) -> Launch:
        """Build a launch without a probe."""
        ...


def examine(launcher: Launcher) -> Finding:
    """Look at the system and run something in the sandbox."""
    if sys.platform != "darwin":
        reason = f"Seatbelt is part of macOS only ({UNPROVED}); choose another sandbox_backend"
        return Finding(False, reason)
    obstacle = program_fault(PROGRAM) or _try(launcher)
    if obstacle is not None:
        return Finding(False, f"Seatbelt does not work here: {obstacle}")
    return Finding(
        True,
        f"{PROGRAM} with a profile made from the policy; {UNPROVED}. Not confined are: the number"
        " of processes, memory and system calls",
    )


def program_fault(path: str) -> str | None:
    """Why a program cannot be trusted to be the system's own; None where it can."""
    try:
        facts = os.lstat(path)
    except OSError:
        return f"{path} is missing; it is part of macOS"
    if not stat.S_ISREG(facts.st_mode) or facts.st_uid != 0 or facts.st_mode & 0o022:
        return f"{path} is not the system's own program: it must be a file that only root may write"
    if not os.access(path, os.X_OK):
        return f"{path} may not be executed"
    return None


def _try(launcher: Launcher) -> str | None:
    """Run a shell in the sandbox that tries to write; returns what went wrong."""
    outside = make_scratch()
    try:
        return _outcome(launcher, outside)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    finally:
        remove_scratch(outside)


def _outcome(launcher: Launcher, outside: str) -> str | None:
    argv = ("/bin/sh", "-c", _TRIAL, "sh", outside)
    launch = launcher.launch(
        ResolvedPolicy("read-only", "/"), Command(argv, "/", {"PATH": "/usr/bin:/bin"})
    )
    try:
        ended = subprocess.run(
            launch.argv,
            env=dict(launch.env),
            cwd=launch.cwd,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_TRIAL_SECONDS,
            check=False,
        )
    finally:
        if launch.cleanup is not None:
            launch.cleanup()
    if ended.returncode == _LEAK or os.path.lexists(f"{outside}/leak"):
        return "a trial could write where the policy forbids it"
    if ended.returncode:
        said = " ".join(ended.stderr.decode("utf-8", "replace").split())
        return f"a trial ended with exit code {ended.returncode}: {said or 'it said nothing'}"
    return None
