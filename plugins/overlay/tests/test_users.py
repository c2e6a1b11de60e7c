"""Views of users without rights, who mount them in a user namespace of their own."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(sys.platform != "linux", reason="overlays are mounted on Linux"),
    pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="becomes another user"),
]

HERE = Path(__file__).parent
SCRIPT = """
import ctypes, json, pathlib, sys
sys.path[:] = [*json.loads(sys.argv[1]), *sys.path]
import anyio, conftest
ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)  # not dumpable, as the program `ferrule` is
case = conftest.Case(pathlib.Path(sys.argv[2]) / "case")
for name in ("kept", "gone", "d/in", "d/other"):
    case.write(name, "base\\n")
(who,) = case.shell(
    "echo thread > kept; rm gone; rm -r d; mkdir new; echo x > new/x; id -u;"
    " grep CapEff /proc/self/status"
)
print(who.split())
view = conftest.open_view(case.context(), case.policy)
print(pathlib.Path(f"{view.root}{case.path}/kept").read_text().strip())
turn = view.begin_turn("t1")
case.run(view, ("sh", "-ec", "echo later > kept; rm -r new; mkdir new; echo back > gone"))
print([turn, view.rewind(["t1"])])
anyio.run(view.aclose)
print(case.shelf.about.mechanism, sorted(case.pending()), (case.workspace / "gone").exists())
case.discard(files=["d/in"])
print(case.shell("ls d"))
print(case.apply().left, sorted(conftest.take_snapshot(case.path)))
case.rollback()
print(sorted(conftest.take_snapshot(case.path)))
"""


def run(*argv, **options):
    return subprocess.run(
        argv,
        capture_output=True,
        text=True,
        check=False,
        cwd="/",
        env={"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"},
        **options,
    )


@pytest.fixture
def folder():
    """A folder that everybody can reach; the temporary folder of a test is its user's only."""
    with tempfile.TemporaryDirectory(prefix="overlay-", dir="/var/tmp") as name:
        os.chmod(name, 0o777)
        yield Path(name)


def told(finished):
    assert finished.returncode == 0, finished.stderr
    return finished.stdout.splitlines()


EXPECTED = [
    "thread",
    "['', '']",
    "overlayfs ['d', 'd/in', 'd/other', 'gone', 'kept', 'new', 'new/x'] True",
    "['in\\n']",
    "{} ['d', 'd/in', 'kept', 'new', 'new/x']",
    "['d', 'd/in', 'd/other', 'gone', 'kept']",
]


def test_an_ordinary_user_has_a_view_and_no_more_rights_in_it(folder):
    python = "/usr/bin/python3"
    paths = json.dumps([str(HERE), *(path for path in sys.path if "site-packages" in path)])
    shutil.copytree(HERE, folder / "tests")
    sources = {str(Path(module.__file__).parents[1]) for module in needed()}
    paths = json.dumps([str(folder / "tests"), *sources, *json.loads(paths)])
    nobody = {"user": "nobody", "group": "nogroup", "extra_groups": []}
    check = f"import sys, json; sys.path[:0] = json.loads({paths!r}); import conftest"
    if not os.path.exists(python) or run(python, "-c", check, **nobody).returncode:
        pytest.skip("no interpreter and libraries that an ordinary user can read")

    said = told(run(python, "-c", SCRIPT, paths, str(folder), **nobody))

    assert said[0] == "['65534', 'CapEff:', '0000000000000000']"
    assert said[1:] == EXPECTED


def needed():
    import ferrule_hookspecs
    import ferrule_overlay

    return ferrule_hookspecs, ferrule_overlay


def test_root_without_the_right_to_mount_has_one_as_well(folder):
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        pytest.skip("setpriv is not installed")
    python = (sys.executable, "-c", SCRIPT, json.dumps([str(HERE)]), str(folder))

    said = told(run(setpriv, "--bounding-set", "-sys_admin", *python))

    assert said[1:] == EXPECTED
