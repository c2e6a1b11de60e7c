"""The sandbox: a broken one, a lying one, none at all, and kernels that forbid it."""

import shutil
import subprocess

import pytest

ONLY = ("--no-network", "--only", "sandbox")
LYING = """
from ferrule_hookspecs.sandbox import Capabilities, Feature, Launch
from typing import get_args


class Backend:
    name = "paper"

    def __init__(self, context):
        pass

    def probe(self):
        return Capabilities(True, "made of paper", frozenset(get_args(Feature)))

    def prepare(self, policy, command):
        return Launch(("/usr/bin/env", *command.argv), dict(command.env), command.cwd)

    def classify(self, policy, result):
        return None

    def files(self, policy):
        return None

    async def aclose(self):
        pass
"""

needs_bubblewrap = pytest.mark.skipif(not shutil.which("bwrap"), reason="needs bubblewrap")


@needs_bubblewrap
def test_a_sandbox_that_works_is_tried_out(doctor):
    report = doctor(*ONLY)

    assert report.status("sandbox.run") == "ok"
    assert report.status("sandbox.confinement") == "ok"
    assert "was refused" in report["sandbox.confinement"]["detail"]
    assert "bubblewrap is chosen" in report["sandbox.choice"]["detail"]
    assert "landlock is" in report["sandbox.choice"]["detail"]
    assert "filesystem" in report["sandbox.features"]["detail"]
    assert report["sandbox.bubblewrap"]["plugin"] == "bubblewrap"


def test_a_sandbox_that_lies_is_found_out(doctor, ferrule_home, checkout):
    ferrule_home.configure(top='sandbox_backend = "paper"')

    report = doctor(*ONLY, environ=checkout("paper", "ferrule.sandboxes", LYING, ":Backend"))

    assert report.returncode == 1
    assert report.status("sandbox.choice") == "ok"
    assert report.status("sandbox.confinement") == "fail"
    assert "does not hold" in report["sandbox.confinement"]["detail"]
    assert list(ferrule_home.path.glob(".ferrule-doctor*")) == []


def test_a_sandbox_that_cannot_start_a_command_is_found(doctor, ferrule_home, checkout):
    ferrule_home.configure(top='sandbox_backend = "paper"')
    source = LYING.replace('("/usr/bin/env", *command.argv)', '("/nowhere/run",)')

    report = doctor(*ONLY, environ=checkout("paper", "ferrule.sandboxes", source, ":Backend"))

    assert report.status("sandbox.run") == "fail"
    assert report.status("sandbox.confinement") == "skip"


def test_running_without_a_sandbox_is_said(doctor):
    report = doctor(*ONLY, "-c", 'sandbox_mode="danger-full-access"')

    assert report.status("sandbox.choice") == "warn"
    assert "all your rights" in report["sandbox.choice"]["detail"]
    assert report.status("sandbox.run") == "skip"


def test_a_backend_that_is_not_there_fails_with_the_way_to_get_it(doctor):
    report = doctor(*ONLY, "-c", 'sandbox_backend="castle"')

    assert report.returncode == 1
    assert report.status("sandbox.choice") == "fail"
    assert "castle is not installed" in report["sandbox.choice"]["detail"]


@pytest.fixture
def machine_with(ferrule_home, tmp_path):
    """Run the doctor on a machine where other files stand in the place of some."""
    import json

    if subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode:
        pytest.skip("needs a mount namespace")

    def run(*arguments, **files):
        lines = []
        for number, (place, text) in enumerate(files.items()):
            stand_in = tmp_path / f"stand-in-{number}"
            stand_in.write_text(text)
            stand_in.chmod(0o755)
            lines.append(f"mount --bind {stand_in} {place}")
        script = " && ".join([*lines, 'exec "$@"'])
        command = ferrule_home.command(["doctor", "--json", *ONLY, *arguments])
        ended = subprocess.run(
            ["unshare", "-m", "sh", "-c", script, "sh", *command],
            env=ferrule_home.environ,
            cwd=ferrule_home.workspace,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ended.stdout, ended.stderr
        checks = {check["id"]: check for check in json.loads(ended.stdout)["checks"]}
        return ended.returncode, checks

    return run


BROKEN = "#!/bin/sh\necho 'setting up uid map: Permission denied' >&2\nexit 1\n"


@pytest.mark.root
@needs_bubblewrap
def test_a_broken_bubblewrap_is_named_with_what_it_said(machine_with):
    code, checks = machine_with(
        "-c", 'sandbox_backend="bubblewrap"', **{shutil.which("bwrap"): BROKEN}
    )

    assert code == 1
    assert checks["sandbox.choice"]["status"] == "fail"
    assert "Permission denied" in checks["sandbox.choice"]["detail"]
    assert checks["sandbox.bubblewrap"]["status"] == "warn"
    assert checks["sandbox.run"]["status"] == "skip"


@pytest.mark.root
@needs_bubblewrap
def test_a_linux_that_forbids_namespaces_is_told_from_a_broken_program(machine_with):
    _, checks = machine_with(
        **{shutil.which("bwrap"): BROKEN, "/proc/sys/user/max_user_namespaces": "0\n"}
    )

    found = checks["sandbox.namespaces"]
    assert found["status"] == "warn"
    assert "user.max_user_namespaces=0" in found["detail"]
    assert "sudo sysctl -w user.max_user_namespaces=" in found["mend"]
