"""Commands in the real sandbox, as root and as an ordinary user."""

import os
import sys
from functools import partial
from pathlib import Path

import pytest

from ferrule_hookspecs.plugins import PluginContext
from ferrule_hookspecs.sandbox import Command
from ferrule_sandbox_landlock.backend import LandlockBackend
from ferrule_testkit.confinement import as_user, complete, make_place, make_policy

PYTHON = "/usr/bin/python3"


@pytest.fixture
def place(tmp_path_factory):
    """A folder every user may enter, with a workspace in it."""
    return make_place(tmp_path_factory.mktemp("sandbox"))


def new_backend(place, **settings):
    config = {"sandboxes": {"landlock": settings}}
    return LandlockBackend(PluginContext(place / "home", config, str(place / "workspace")))


@pytest.fixture
def backend(place):
    backend = new_backend(place)
    if not backend.probe().available:
        pytest.skip(f"the sandbox does not work here: {backend.probe().reason}")
    return backend


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

    def run(*argv, policy=usual, env=None, **settings):
        env = {"PATH": "/usr/bin:/bin"} if env is None else env
        command = Command(argv, str(place / "workspace"), env)
        made = new_backend(place, **settings)
        if request.param == "root" or os.geteuid() != 0:
            return complete(made, policy, command)
        return as_user(lambda: complete(made, policy, command))

    return run


@pytest.fixture
def python(run):
    """Runs a few lines of Python in the sandbox."""
    if not Path(PYTHON).exists() or sys.platform != "linux":
        pytest.skip(f"needs {PYTHON}")

    def python(code, *arguments, **options):
        return run(PYTHON, "-I", "-S", "-c", code, *arguments, **options)

    return python
