"""The container image builds and confines; see docs/install.md.

Too heavy for every run: name the command that podman is called with, as somebody who may use it:
FERRULE_TEST_PODMAN="runuser -u me -- podman --runtime=runc". The base is $FERRULE_TEST_BASE, as
made by .ci/container/debian-base.
"""

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from ferrule_testkit.model_items import function_call, message

ROOT = Path(__file__).parents[2]
PODMAN = shlex.split(os.environ.get("FERRULE_TEST_PODMAN", ""))
BASE = os.environ.get("FERRULE_TEST_BASE", "localhost/debian:bookworm")
IMAGE = "localhost/ferrule:test"
TIGHT = ("--rm", "--cap-drop=ALL", "--security-opt=no-new-privileges")
UNMASKED = (*TIGHT, "--security-opt=unmask=ALL")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(not PODMAN, reason="FERRULE_TEST_PODMAN names no podman"),
]


def podman(*arguments):
    return subprocess.run(
        [*PODMAN, *map(str, arguments)], capture_output=True, text=True, cwd="/", check=False
    )


@pytest.fixture(scope="module")
def image():
    folder = Path(tempfile.mkdtemp(prefix="ferrule-image-"))  # readable for podman's user
    tool = [sys.executable, ROOT / ".ci/release", "build", "-o", folder / "release"]
    made = subprocess.run(tool, capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    shutil.copy(ROOT / ".ci/container/Containerfile", folder)
    certificates = os.environ.get("PIP_CERT", "")
    if certificates:
        shutil.copy(certificates, folder / "ca.crt")
    subprocess.run(["chmod", "-R", "a+rX", folder], check=True)
    options = ["-v", f"{folder}/ca.crt:/ca.crt:ro", "--build-arg", "PIP_CERT=/ca.crt"]
    built = podman(
        *("build", "--network=host", "--build-arg", f"BASE={BASE}", "-t", IMAGE),
        *(options if certificates else []),
        *("-f", folder / "Containerfile", folder / "release"),
    )
    assert built.returncode == 0, built.stdout[-2000:] + built.stderr[-2000:]
    yield IMAGE
    podman("rmi", "--force", IMAGE)
    shutil.rmtree(folder)


def test_it_runs_as_a_user_without_rights(image):
    done = podman("run", *TIGHT, "--network=none", "--entrypoint=id", image, "-un")

    assert done.stdout == "ferrule\n"


def test_commands_are_confined_inside(image):
    script = "cat /proc/1/comm; touch /workspace/made; touch /home/ferrule/no"

    done = podman(
        *("run", *UNMASKED, "--network=none", image),
        *("sandbox", "-s", "workspace-write", "--", "sh", "-c", script),
    )

    assert "/home/ferrule/no': Read-only file system" in done.stderr
    assert "/workspace/made" not in done.stderr
    assert done.stdout != "ferrule\n", "it sees the processes of the container"


def test_without_the_flag_nothing_that_may_write_runs(image):
    command = ("sandbox", "-s", "workspace-write", "--", "echo", "ran")

    done = podman("run", *TIGHT, "--network=none", image, *command)

    assert (done.returncode, done.stdout) == (1, "")
    assert "start the container with --security-opt unmask=ALL" in done.stderr


def test_without_the_flag_landlock_confines_what_may_only_read(image):
    script = "touch /workspace/no; echo ran"

    done = podman("run", *TIGHT, "--network=none", image, "sandbox", "--", "sh", "-c", script)

    assert done.stdout == "ran\n"
    assert "/workspace/no': Permission denied" in done.stderr
    assert "commands run in the sandbox landlock" in done.stderr


def test_a_turn_runs_inside(image, model_server):
    model_server.play(
        [[function_call("exec_command", {"cmd": "echo $((6 * 7))"})], [message("ok")]]
    )
    provider = f'{{name="here",base_url="{model_server.base_url}",wire_api="responses"}}'

    done = podman(
        *("run", *UNMASKED, "--network=host", image, "exec", "--json", "--skip-git-repo-check"),
        *("-c", f"model_providers.here={provider}", "-c", "model_provider=here", "go"),
    )

    assert done.returncode == 0, done.stderr
    assert '"aggregated_output":"42\\n"' in done.stdout
