"""A whole turn in a container: commands and file tools meet the same files."""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from ferrule_testkit.confinement import NOBODY
from ferrule_testkit.home import FerruleHome
from ferrule_testkit.model_items import freeform_call, function_call, message

pytestmark = pytest.mark.slow
_PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII="
)
GIVEN_UP = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
_SETTINGS = """\
sandbox_backend = "container"
[sandboxes.container]
image = "localhost/ferrule-test:busybox"
runtime = "{runtime}"
[features]
file_tools = true
"""


@pytest.fixture
def user_python(place):
    """A Python that an ordinary user may run, with our packages among its own."""
    wanted = f"{sys.version_info[0]}.{sys.version_info[1]}"
    tell = "import sys; print('%d.%d' % sys.version_info[:2])"
    if said_by([sys.executable, "-c", tell]) == wanted:
        return sys.executable
    program = shutil.which("python3", path="/usr/bin:/usr/local/bin")
    if program is None or said_by([program, "-c", tell]) != wanted:
        pytest.skip(f"needs a Python {wanted} that an ordinary user may run")
    folder = place / "python"
    (folder / "bin").mkdir(parents=True)
    (folder / "pyvenv.cfg").write_text(f"home = {os.path.dirname(program)}\n")
    (folder / "bin" / "python").symlink_to(program)
    packages = Path(sysconfig.get_path("purelib"))
    (folder / "lib" / packages.parent.name).mkdir(parents=True)
    (folder / "lib" / packages.parent.name / packages.name).symlink_to(packages)
    return str(folder / "bin" / "python")


def said_by(command):
    """What a program says when an ordinary user runs it; nothing where that fails."""
    try:
        return subprocess.run(
            command, cwd="/", capture_output=True, text=True, **GIVEN_UP
        ).stdout.strip()
    except OSError:
        return ""


@pytest.fixture
def turn(podman, place, model_server, user_python):
    """Runs one turn of a scripted model as an ordinary user, in a container."""
    environ = {
        **podman.environ,
        "PYTHONDONTWRITEBYTECODE": "1",
        "FERRULE_HOME": str(place / "home"),
        "SCRIPTED_KEY": "x",
    }
    home = FerruleHome(place / "home", place / "workspace", model_server.base_url, environ)
    home.configure(top=_SETTINGS.format(runtime=podman.runtime))
    for path_ in (place / "home", place / "home" / "config.toml"):
        os.chown(path_, *((NOBODY, NOBODY) if os.geteuid() == 0 else (-1, -1)))

    def turn(*responses):
        model_server.play([*responses, [message("done")]])
        return subprocess.run(
            [user_python, "-m", "ferrule", "exec", "--json", "--skip-git-repo-check", "go"],
            **GIVEN_UP,
            cwd=place / "workspace",
            env=environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=240,
        )

    return turn


def outputs(model_server):
    """What the model was told by each call, by its id."""
    found = {}
    for item in model_server.requests[-1].body["input"]:
        if item["type"].endswith("_output"):
            found[item["call_id"]] = item["output"]
    return found


def test_tools_and_commands_meet_the_same_files(turn, model_server, podman, place):
    patch = (
        "*** Begin Patch\n*** Add File: here.txt\n+one\n*** Add File: /tmp/inside.txt\n+two\n"
        "*** End Patch"
    )
    look = f"cat here.txt /tmp/inside.txt; echo {_PIXEL} | base64 -d > /tmp/pixel.png"

    done = turn(
        [freeform_call("apply_patch", patch, call_id="patch")],
        [function_call("exec_command", {"cmd": look, "shell": "/bin/sh"}, call_id="look")],
        [
            function_call("view_image", {"path": "/tmp/pixel.png"}, call_id="image"),
            function_call("read_file", {"path": "/tmp/inside.txt"}, call_id="read"),
            function_call("list_dir", {"path": "/bin"}, call_id="list"),
        ],
    )

    assert done.returncode == 0, done.stderr
    said = {name: str(output) for name, output in outputs(model_server).items()}
    assert "one\ntwo" in said["look"].replace("\\n", "\n"), done.stderr
    assert _PIXEL[:40] in said["image"]
    assert "two" in said["read"]
    assert "busybox" in said["list"]
    assert (place / "workspace" / "here.txt").read_text() == "one\n"
    assert not Path("/tmp/inside.txt").exists()
    assert podman.containers() == []
