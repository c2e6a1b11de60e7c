"""Finds bubblewrap and tries out what it can do here."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ferrule_sandbox_bubblewrap.seccomp import is_supported

_USUAL_FOLDERS: Final = ("/usr/bin", "/usr/local/bin", "/bin", "/run/current-system/sw/bin")
_TRIAL_SECONDS: Final = 10
_TRIAL: Final = (
    *("--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-net"),
    *("--die-with-parent", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"),
    *("--cap-drop", "ALL"),
)


@dataclass(frozen=True, slots=True)
class Finding:
    """The program, or why there is none that works, with the mend."""

    program: str | None
    reason: str


def find_program(path: str, workspace: str) -> str | None:
    """Find bubblewrap where no workspace could have put it.

    Args:
        path: The search path of the kernel.
        workspace: Canonical folder whose content is not to be trusted.
    """
    inside = workspace.rstrip("/") + "/"
    for folder in (*_USUAL_FOLDERS, *filter(os.path.isabs, path.split(":"))):
        program = os.path.realpath(os.path.join(folder, "bwrap"))
        if not program.startswith(inside) and os.access(program, os.X_OK):
            return program
    return None


def examine(path: str, workspace: str) -> Finding:
    """Look for bubblewrap and run it once."""
    if sys.platform != "linux":
        return Finding(None, "bubblewrap works on Linux only; choose another sandbox_backend")
    if not is_supported():
        return Finding(None, "bubblewrap is used on x86_64 and aarch64 only, for its filter's sake")
    program = find_program(path, workspace)
    if program is None:
        return Finding(
            None, "bubblewrap (bwrap) is not installed; install it, as in `apt install bubblewrap`"
        )
    failure = _try(program)
    if failure is not None:
        return Finding(
            None,
            f"{program} does not work here: {failure}; allow unprivileged user namespaces"
            " (kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns)"
            " or choose another sandbox_backend",
        )
    return Finding(program, f"commands run in {program} with namespaces and a system call filter")


def _try(program: str) -> str | None:
    """Run bubblewrap once; returns what went wrong."""
    argv: Sequence[str] = (program, *_TRIAL, "--", "/bin/sh", "-c", "exit 0")
    try:
        ended = subprocess.run(
            argv,
            env={},
            cwd="/",
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_TRIAL_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if ended.returncode == 0:
        return None
    text = ended.stderr.decode("utf-8", "replace").strip()
    return text.splitlines()[-1] if text else f"it ended with exit code {ended.returncode}"
