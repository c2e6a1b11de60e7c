"""Wheels of every distribution, and bare environments to install them into."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = Path(__file__).parent / "packages"
LEAN = "ferrule-core[lean]"


def uv(*arguments, **options):
    done = subprocess.run(["uv", *map(str, arguments)], capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="session")
def wheels(tmp_path_factory):
    """A folder with the wheels of all distributions, ours and the third-party samples."""
    if shutil.which("uv") is None:
        pytest.skip("uv is not installed, which builds and installs what is tried")
    folder = tmp_path_factory.mktemp("wheels")
    uv("build", "--all-packages", "--wheel", "-q", "-o", folder, ROOT)
    for package in sorted(PACKAGES.iterdir()):
        uv("build", "--wheel", "-q", "-o", folder, package)
    return folder


@pytest.fixture
def environ(tmp_path):
    """Installers that know nothing of this machine but its package index."""
    return os.environ | {
        "HOME": str(tmp_path / "home"),
        "FERRULE_HOME": str(tmp_path / "ferrule"),
        "UV_TOOL_DIR": str(tmp_path / "tools"),
        "UV_TOOL_BIN_DIR": str(tmp_path / "bin"),
        "PIPX_HOME": str(tmp_path / "pipx"),
        "PIPX_BIN_DIR": str(tmp_path / "bin"),
        "PIPX_MAN_DIR": str(tmp_path / "man"),
        "PIPX_DEFAULT_PYTHON": sys.executable,
    }


@dataclass
class Environment:
    """A virtual environment of its own."""

    folder: Path
    wheels: Path

    @property
    def ferrule(self):
        return self.folder / "bin" / "ferrule"

    def install(self, *names):
        uv(
            "pip",
            "install",
            "-q",
            "--python",
            self.folder / "bin" / "python",
            "--find-links",
            self.wheels,
            *names,
        )

    def uninstall(self, *names):
        uv("pip", "uninstall", "-q", "--python", self.folder / "bin" / "python", *names)

    def installed(self):
        listed = uv(
            "pip", "list", "-q", "--format", "freeze", "--python", self.folder / "bin" / "python"
        )
        return [line.split("==")[0] for line in listed.splitlines()]


@pytest.fixture
def environment_at(wheels):
    """Name a virtual environment that was made otherwise."""
    return lambda folder: Environment(folder, wheels)


@pytest.fixture
def bare_environment(tmp_path, wheels):
    """An empty virtual environment."""
    uv("venv", "-q", tmp_path / "venv")
    return Environment(tmp_path / "venv", wheels)


@pytest.fixture
def lean_environment(bare_environment):
    """A virtual environment with the lean set."""
    bare_environment.install(LEAN)
    return bare_environment


@pytest.fixture
def run_in(ferrule_home):
    """Run the `ferrule` of an environment in the temporary home."""

    def run(environment, *arguments, **options):
        home = ferrule_home
        home.environ["PATH"] = f"{environment.ferrule.parent}{os.pathsep}{home.environ['PATH']}"
        home.environ["XDG_CACHE_HOME"] = str(home.path / "cache")
        command = home.command
        object.__setattr__(home, "command", lambda words: [str(environment.ferrule), *words])
        try:
            return home.run(*arguments, **options)
        finally:
            object.__setattr__(home, "command", command)

    return run
