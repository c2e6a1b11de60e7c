"""Commands in the real sandbox, as root and as an ordinary user."""

import ctypes
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from ferrule_hookspecs.plugins import PluginContext
from ferrule_hookspecs.sandbox import Command, ResolvedPolicy, WritableRoot
from ferrule_sandbox_bubblewrap.backend import BubblewrapBackend

NOBODY = 65534
PYTHON = "/usr/bin/python3"


@pytest.fixture
def place(tmp_path_factory):
    """A folder every user may enter, with a workspace in it."""
    base = tmp_path_factory.mktemp("sandbox")
    for folder in (base, *base.parents):
        if folder.stat().st_uid == os.geteuid() and str(folder).startswith("/tmp/"):
            folder.chmod(0o755)
    for name in ("workspace", "outside", "home"):
        (base / name).mkdir()
        (base / name).chmod(0o777)
    return base


def new_backend(place):
    environ = dict(os.environ)
    return BubblewrapBackend(
        PluginContext(place / "home", {}, str(place / "workspace"), environ=environ)
    )


@pytest.fixture
def backend(place):
    backend = new_backend(place)
    if not backend.probe().available:
        pytest.skip(f"the sandbox does not work here: {backend.probe().reason}")
    yield backend
    backend.close()


@pytest.fixture
def policy(place):
    """Builds policies over the workspace."""

    def policy(mode="workspace-write", *, read_only=(), forbidden=(), pinned=(), **options):
        workspace = place / "workspace"
        named = [
            tuple(str(workspace / name) for name in names)
            for names in (read_only, forbidden, pinned)
        ]
        roots = (WritableRoot(str(workspace), *named),) if mode == "workspace-write" else ()
        return ResolvedPolicy(mode, str(workspace), roots, **options)

    return policy


@pytest.fixture(params=["root", "user"])
def run(request, backend, place, policy):
    """Runs a command to its end; as root it needs root, and as a user it gives root up."""
    if request.param == "root" and os.geteuid() != 0:
        pytest.skip("needs root")

    usual = policy()

    def run(*argv, policy=usual, env=None):
        env = {"PATH": "/usr/bin:/bin"} if env is None else env
        command = Command(argv, str(place / "workspace"), env)
        if request.param == "root" or os.geteuid() != 0:
            return complete(backend, policy, command)
        return as_user(lambda: complete(new_backend(place), policy, command))

    return run


def complete(backend, policy, command):
    launch = backend.prepare(policy, command)
    try:
        child = subprocess.Popen(
            launch.argv,
            env=launch.env,
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


def as_user(work):
    """Do something in a process that has given root up, and bring its result back."""
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.setgroups([])
            os.setresgid(NOBODY, NOBODY, NOBODY)
            os.setresuid(NOBODY, NOBODY, NOBODY)
            ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # as after an ordinary login
            outcome = work()
        except BaseException as error:
            outcome = error
        with os.fdopen(theirs, "wb") as file:
            pickle.dump(outcome, file)
        os._exit(0)
    os.close(theirs)
    with os.fdopen(ours, "rb") as file:
        outcome = pickle.load(file)
    os.waitpid(pid, 0)
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome


@pytest.fixture
def python(run):
    """Runs a few lines of Python in the sandbox."""
    if not Path(PYTHON).exists() or sys.platform != "linux":
        pytest.skip(f"needs {PYTHON}")

    def python(code, **options):
        return run(PYTHON, "-I", "-S", "-c", code, **options)

    return python
