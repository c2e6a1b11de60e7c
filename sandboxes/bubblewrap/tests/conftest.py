"""Commands in the real sandbox, as root and as an ordinary user."""

import os
import sys
from functools import partial
from pathlib import Path

import pytest

from ferrule_hookspecs.plugins import PluginContext
from ferrule_hookspecs.sandbox import Command
from ferrule_sandbox_bubblewrap.backend import BubblewrapBackend
from ferrule_testkit.confinement import as_user, complete, make_place, make_policy

PYTHON = "/usr/bin/python3"


@pytest.fixture
def place(tmp_path_factory):
    """A folder every user may enter, with a workspace in it."""
    return make_place(tmp_path_factory.mktemp("sandbox"))


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
    return partial(make_policy, place / "workspace")


@pytest.fixture(params=["root", "user"])
def run(request, backend, place, policy):
    """Runs a command to its end; as root it needs root, and as a user it gives root up."""
    if request.param == "root" and os.geteuid() != 0:
        pytest.skip("needs root")

    usual = policy()

    def run(*argv, policy=usual, env=None, door=None):
        env = {"PATH": "/usr/bin:/bin"} if env is None else env
        command = Command(argv, str(place / "workspace"), env, door=door)
        if request.param == "root" or os.geteuid() != 0:
            return complete(backend, policy, command)
        return as_user(lambda: _in_a_session(new_backend(place), policy, command))

    def _in_a_session(backend, policy, command):
        try:
            return complete(backend, policy, command)
        finally:
            backend.close()

    return run


@pytest.fixture
def python(run):
    """Runs a few lines of Python in the sandbox."""
    if not Path(PYTHON).exists() or sys.platform != "linux":
        pytest.skip(f"needs {PYTHON}")

    def python(code, *arguments, **options):
        return run(PYTHON, "-I", "-S", "-c", code, *arguments, **options)

    return python
