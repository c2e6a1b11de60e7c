"""A project with a repository, a home beside it, a mirror of registries, and `ferrule sandbox`.

Neither the home nor the temporary folder can be written by a command, so what works here works by
its recipe.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from ferrule_testkit.package_mirror import package_mirror

_NO_SCRATCH = ("exclude_slash_tmp", "exclude_tmpdir_env_var")


@dataclass
class Place:
    """A machine of a user, as far as a package manager looks at it."""

    home: Path
    project: Path

    def sandbox(self, *words, recipes=(), network=True, env=(), before=()):
        """Run a command in the sandbox; `before` are words and options of `ferrule sandbox`.

        `network` is whether it has one, or what the managed network allows, as rules.
        """
        keys = [f"sandbox_workspace_write.{key}=true" for key in _NO_SCRATCH]
        if isinstance(network, bool):
            keys.append(f"sandbox_workspace_write.network_access={str(network).lower()}")
        else:
            managed = {"network.rules": list(network), "network.local_addresses": ["127.0.0.1"]}
            keys += ["network.enabled=true", *(f"{k}={json.dumps(v)}" for k, v in managed.items())]
        if recipes:
            keys.append(f"sandbox_recipes={json.dumps(list(recipes))}")
        options = [text for key in keys for text in ("-c", key)]
        before = before or ("-s", "workspace-write")
        return self.ferrule("sandbox", *before, *options, "--", *words, env=env)

    def ferrule(self, *words, env=()):
        """Run ferrule in the project."""
        return subprocess.run(
            [sys.executable, "-m", "ferrule", *words],
            cwd=self.project,
            env={**self.environ, **dict(env)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )

    @property
    def environ(self):
        """The user's environment: none of the caches and registries of whoever runs the tests."""
        kept = ("PATH", "LANG", "USER", "LOGNAME")
        return {
            **{name: os.environ[name] for name in kept if name in os.environ},
            "HOME": str(self.home),
            "FERRULE_HOME": str(self.home / ".ferrule"),
        }

    def caches(self, recipe):
        """What lies in the caches of a recipe."""
        folder = self.home / ".cache" / "ferrule" / "recipes" / recipe
        return [path for path in folder.rglob("*") if path.is_file()]

    def git(self, *words):
        """Run git as the user does."""
        return subprocess.run(
            ["git", "-c", "user.name=n", "-c", "user.email=e@example.com", *words],
            cwd=self.project,
            env=self.environ,
            capture_output=True,
            text=True,
            check=True,
        ).stdout


@pytest.fixture
def place(tmp_path):
    """A home and a project that is a repository."""
    made = Place(tmp_path / "home", tmp_path / "project")
    for folder in (made.home / ".ferrule", made.project):
        folder.mkdir(parents=True)
    made.git("init", "-q")
    probe = json.loads(made.ferrule("sandbox", "--backend", "bubblewrap", "--json-probe").stdout)
    if not probe["available"]:
        pytest.skip(f"the sandbox does not work here: {probe['reason']}")
    return made


@pytest.fixture
def mirror():
    """A mirror of registries."""
    with package_mirror() as made:
        yield made


@pytest.fixture
def tool():
    """Find a program, or skip the test."""

    def find(name, *folders):
        path = os.pathsep.join([*map(str, folders), os.environ["PATH"]])
        found = shutil.which(name, path=path)
        if found is None:
            pytest.skip(f"{name} is not installed")
        return found

    return find
