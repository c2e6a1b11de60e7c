"""Finds bubblewrap and tries out what it can do here."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from ferrule_confinement.seccomp import is_supported

if TYPE_CHECKING:
    from collections.abc import Sequence

_USUAL_FOLDERS: Final = ("/usr/bin", "/usr/local/bin", "/bin", "/run/current-system/sw/bin")
_TRIAL_SECONDS: Final = 10
_BOOT: Final = "/proc/sys/kernel/random/boot_id"
# Nothing that ends it with us: ended at the wrong moment it would leave a process that waits for
# it for ever, and left alone it ends by itself.
_TRIAL: Final = (
    *("--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-net"),
    *("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--cap-drop", "ALL"),
)


class Finding(NamedTuple):
    """The program, or why there is none that works, with the mend."""

    program: str | None
    reason: str


def find_program(path: str, workspace: str) -> str | None:
    """Find bubblewrap where no workspace could have put it.

    Args:
        path: The search path of the kernel.
        workspace: Canonical folder whose content is not to be trusted.
    """
    elsewhere = filter(os.path.isabs, path.split(":"))
    for folder in (*_USUAL_FOLDERS, *elsewhere):
        program = os.path.realpath(os.path.join(folder, "bwrap"))
        is_trusted = folder in _USUAL_FOLDERS or not _is_inside(program, workspace)
        if is_trusted and os.access(program, os.X_OK):
            return program
    return None


def _is_inside(path: str, folder: str) -> bool:
    return path.startswith(folder.rstrip("/") + "/")


def examine(path: str, workspace: str, cache: str) -> Finding:
    """Look for bubblewrap and run it once; a success is remembered until the next boot.

    Args:
        path: The search path of the kernel.
        workspace: Canonical folder whose content is not to be trusted.
        cache: File to remember it in, out of reach of commands.
    """
    if sys.platform != "linux":
        return Finding(None, "bubblewrap works on Linux only; choose another sandbox_backend")
    if not is_supported():
        return Finding(None, "bubblewrap is used on x86_64 and aarch64 only, for its filter's sake")
    program = find_program(path, workspace)
    if program is None:
        return Finding(
            None, "bubblewrap (bwrap) is not installed; install it, as in `apt install bubblewrap`"
        )
    key = _key(program)
    failure = None if _remembered(cache) == key else try_out(program)
    if failure is None:
        _remember(cache, key)
    else:
        return Finding(
            None,
            f"{program} does not work here: {failure}; {_mend(failure)}"
            " or choose another sandbox_backend",
        )
    return Finding(program, f"commands run in {program} with namespaces and a system call filter")


def _mend(failure: str) -> str:
    if "mount proc" in failure:  # as engines of containers cover parts of /proc
        return (
            "start the container with --security-opt unmask=ALL"
            " (docker: --security-opt systempaths=unconfined)"
        )
    return (
        "allow unprivileged user namespaces (kernel.unprivileged_userns_clone,"
        " kernel.apparmor_restrict_unprivileged_userns)"
    )


def try_out(program: str) -> str | None:
    """Run bubblewrap once; returns what went wrong."""
    argv: Sequence[str] = (program, *_TRIAL, "--", "/bin/sh", "-c", "exit 0")
    try:
        code, errors = _run(argv)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if code == 0:
        return None
    text = errors.decode("utf-8", "replace").strip()
    return text.splitlines()[-1] if text else f"it ended with exit code {code}"


def _run(argv: Sequence[str]) -> tuple[int, bytes]:
    with subprocess.Popen(
        argv,
        env={},
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        process_group=0,
    ) as trial:
        try:
            errors = trial.communicate(timeout=_TRIAL_SECONDS)[1]
        except BaseException:
            os.killpg(trial.pid, signal.SIGKILL)  # with what it has made of itself
            raise
        return trial.returncode, errors


def _key(program: str) -> str:
    """What the outcome of a trial depends on."""
    facts = os.stat(program)
    try:
        with open(_BOOT, encoding="ascii") as file:
            boot = file.read().strip()
    except OSError:
        return ""
    return f"{program} {facts.st_ino} {facts.st_mtime_ns} {os.geteuid()} {boot}"


def _remembered(cache: str) -> str | None:
    try:
        with open(cache, encoding="utf-8") as file:
            return file.read()
    except OSError:
        return None


def _remember(cache: str, key: str) -> None:
    """Write the cache; a folder that cannot be written only costs time."""
    if not key or _remembered(cache) == key:
        return
    temporary = f"{cache}.{os.getpid()}"
    with suppress(OSError):
        os.makedirs(os.path.dirname(cache), mode=0o700, exist_ok=True)
        with open(temporary, "w", encoding="utf-8") as file:
            file.write(key)
        os.replace(temporary, cache)
