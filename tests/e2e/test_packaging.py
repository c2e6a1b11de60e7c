"""What users install: the lean and the standard set, with pip, uv and pipx, into bare environments.

Our own distributions come from wheels of this checkout, dependencies from the package index.
"""

import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from ferrule_testkit.model_items import function_call, message

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
LEAN, STANDARD = "ferrule-core[lean]", "ferrule"
MOST_LEAN = 20
NOT_COUNTED = {"pip", "setuptools"}


@dataclass(frozen=True)
class Installed:
    """What an installer made."""

    ferrule: Path
    python: Path
    uninstall: list
    left: Path
    """Where nothing may be left after uninstalling."""


def run(*command, **options):
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, **options)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


def with_pip(name, wheels, tmp_path, environ):
    folder = tmp_path / "venv"
    run(sys.executable, "-m", "venv", folder)
    pip = [folder / "bin" / "python", "-m", "pip"]
    run(*pip, "install", "-q", "--find-links", wheels, name, env=environ)
    ours = [line for line in installed(folder / "bin" / "python") if line.startswith("ferrule")]
    return Installed(
        folder / "bin" / "ferrule",
        folder / "bin" / "python",
        [*pip, "uninstall", "-q", "-y", *ours],
        folder,
    )


def with_uv(name, wheels, tmp_path, environ):
    run("uv", "tool", "install", "-q", "--find-links", wheels, name, env=environ)
    project = name.partition("[")[0]
    return Installed(
        tmp_path / "bin" / "ferrule",
        tmp_path / "tools" / project / "bin" / "python",
        ["uv", "tool", "uninstall", "-q", project],
        tmp_path / "tools",
    )


def with_pipx(name, wheels, tmp_path, environ):
    pipx = ["uv", "tool", "run", "-q", "pipx"]
    run(*pipx, "install", "--pip-args", f"--find-links {wheels}", name, env=environ)
    project = name.partition("[")[0]
    return Installed(
        tmp_path / "bin" / "ferrule",
        tmp_path / "pipx" / "venvs" / project / "bin" / "python",
        [*pipx, "uninstall", project],
        tmp_path / "pipx" / "venvs",
    )


def installed(python):
    listed = run("uv", "pip", "list", "-q", "--format", "freeze", "--python", python)
    return {line.split("==")[0] for line in listed.splitlines()} - NOT_COUNTED


@pytest.fixture(
    params=[
        pytest.param((installer, name), id=f"{installer.__name__}-{words}")
        for installer in (with_pip, with_uv, with_pipx)
        for words, name in (("lean", LEAN), ("standard", STANDARD))
    ]
)
def made(request, wheels, tmp_path, environ):
    if shutil.which("uv") is None:
        pytest.skip("uv is not installed")
    installer, name = request.param
    return installer(name, wheels, tmp_path, environ)


def test_what_is_installed_runs_a_turn_in_the_sandbox_and_goes_away_again(
    made, environ, run_in, environment_at, ferrule_home, model_server
):
    count = len(installed(made.python))
    assert count <= MOST_LEAN or "ferrule-manual" in installed(made.python)
    assert run(made.ferrule, "--version", env=environ).startswith("ferrule 0.")
    model_server.play(
        [
            [function_call("exec_command", {"cmd": "echo hi > made; echo no > /opt/ferrule-no"})],
            [message("done")],
        ]
    )

    finished = run_in(environment_at(made.ferrule.parents[1]), "exec", "--json", "go")

    assert finished.returncode == 0, finished.stderr
    (ran,) = finished.items("command_execution")
    assert "Read-only file system" in ran["aggregated_output"]
    assert (ferrule_home.workspace / "made").read_text() == "hi\n"
    run(*made.uninstall, env=environ)
    assert not made.ferrule.exists()
    assert [path for path in made.left.rglob("*ferrule*") if path.suffix != ".lock"] == []


def test_the_lean_set_is_twenty_distributions_at_most(wheels, tmp_path, environ):
    made = with_uv(LEAN, wheels, tmp_path, environ)

    assert len(installed(made.python)) <= MOST_LEAN


def test_the_lean_set_says_what_it_lacks(wheels, tmp_path, environ):
    made = with_uv(LEAN, wheels, tmp_path, environ)

    def told(*arguments):
        done = subprocess.run(
            [made.ferrule, *arguments], capture_output=True, text=True, env=environ, cwd=tmp_path
        )
        return done.returncode, done.stderr

    assert told("config", "get", "model") == (
        1,
        (
            "error: the command 'config' needs typer, which a lean installation has not; install"
            " 'ferrule-core[commands]', or 'ferrule' for the standard set\n"
        ),
    )
    assert told("demo")[1].endswith("is part of ferrule-replay; install it\n")
    (tmp_path / "schema.json").write_text("{}")
    code, text = told("exec", "--skip-git-repo-check", "--output-schema", "schema.json", "go")
    assert (code, "ferrule-exec[schema]" in text) == (1, True)
    listed = run(made.ferrule, "--help", env=environ)
    assert "config      Needs typer, which is not installed.\n" in listed
    assert "Broken" not in listed


def test_a_project_is_trusted_in_the_lean_set(
    wheels, tmp_path, environ, run_in, environment_at, ferrule_home, model_server
):
    made = with_uv(LEAN, wheels, tmp_path, environ)
    model_server.play([[message("done")]])

    finished = run_in(environment_at(made.ferrule.parents[1]), "exec", "--trust", "go")

    assert finished.returncode == 0, finished.stderr
    assert 'trust_level = "trusted"' in (ferrule_home.path / "config.toml").read_text()


def test_wheels_hold_code_and_licence_and_nothing_else(wheels):
    for wheel in wheels.glob("ferrule*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            names = archive.namelist()
        stem = wheel.name.split("-")[0]
        metadata = f"{'-'.join(wheel.name.split('-')[:2])}.dist-info"
        package = "ferrule" if stem == "ferrule_core" else stem
        assert f"{metadata}/licenses/LICENSE" in names
        assert {name.split("/")[0] for name in names} <= {metadata, package}
        folders = {part for name in names for part in name.split("/")[:-1]}
        assert not folders & {"test", "tests"}, wheel.name
