"""Commands in a sandbox backend without a kernel around it, as root and as an ordinary user."""

from __future__ import annotations

import ctypes
import os
import pickle
import subprocess
from typing import TYPE_CHECKING, Final, TypeVar, cast

from ferrule_hookspecs.sandbox import ResolvedPolicy, WritableRoot

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from ferrule_hookspecs.sandbox import Command, Launch, SandboxBackend

T = TypeVar("T")

NOBODY: Final = 65534
_PR_SET_DUMPABLE: Final = 4


def make_place(base: Path) -> Path:
    """Make `workspace`, `outside` and `home` in a folder that every user may enter."""
    for folder in (base, *base.parents):
        if folder.stat().st_uid == os.geteuid() and str(folder).startswith(
            "/tmp/"
        ):  # where tests work
            folder.chmod(0o755)
    for name in ("workspace", "outside", "home"):
        (base / name).mkdir()
        (base / name).chmod(0o777)
    return base


def make_policy(
    workspace: Path,
    mode: str = "workspace-write",
    *,
    read_only: Sequence[str] = (),
    forbidden: Sequence[str] = (),
    pinned: Sequence[str] = (),
    **options: object,
) -> ResolvedPolicy:
    """Build a policy over a workspace; names are taken from there."""
    named = [
        tuple(str(workspace / name) for name in names) for names in (read_only, forbidden, pinned)
    ]
    roots = (WritableRoot(str(workspace), *named),) if mode == "workspace-write" else ()
    return ResolvedPolicy(mode, str(workspace), roots, **options)  # pyright: ignore[reportArgumentType] -- the caller's words


def complete(
    backend: SandboxBackend, policy: ResolvedPolicy, command: Command
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, with all of its output in one.

    As in the kernel, it is prepared anew where the machine changed under its sandbox.
    """
    while True:
        launch = backend.prepare(policy, command)
        ended = _complete(launch, command)
        if launch.settled is None or launch.settled():
            return ended


def _complete(launch: Launch, command: Command) -> subprocess.CompletedProcess[str]:
    try:
        child = subprocess.Popen(
            launch.argv,
            env=dict(launch.env),
            cwd=launch.cwd,
            pass_fds=launch.pass_fds,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        if launch.started is not None:
            launch.started()
        with child:
            output = child.communicate()[0].decode("utf-8", "replace")
    finally:
        if launch.cleanup is not None:
            launch.cleanup()
    return subprocess.CompletedProcess(command.argv, child.returncode, output)


def as_user(work: Callable[[], T]) -> T:
    """Do something in a process that has given root up, and bring its result back."""
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        outcome: object
        try:
            os.setgroups([])
            os.setresgid(NOBODY, NOBODY, NOBODY)
            os.setresuid(NOBODY, NOBODY, NOBODY)
            ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 1, 0, 0, 0)  # as after an ordinary login
            outcome = work()
        except BaseException as error:
            outcome = error
        with os.fdopen(theirs, "wb") as file:
            pickle.dump(outcome, file)
        os._exit(0)
    os.close(theirs)
    with os.fdopen(ours, "rb") as file:
        result = pickle.load(file)  # our own child wrote it
    os.waitpid(pid, 0)
    if isinstance(result, BaseException):
        raise result
    return cast("T", result)
