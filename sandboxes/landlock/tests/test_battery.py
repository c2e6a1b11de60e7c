"""The recorded sandbox battery, through `ferrule sandbox`, as root and as an ordinary user.

What falls short is declared with its reason, and a declared gap that holds is a fault, too. Slow:
hundreds of commands, each with a start of the whole program.
"""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

import pytest

from ferrule_testkit.battery import SCRIPT, Battery
from ferrule_testkit.confinement import NOBODY

GAPS = json.loads((Path(__file__).parent / "declared_gaps.json").read_text("utf-8"))
ACCEPT = 'sandbox_accept_gaps=["protected_paths", "missing_names"]'
OPTIONS = ("--backend", "landlock", "-c", ACCEPT)
# A sample of every family that is quick enough for every run; `--run-slow` runs all of them.
QUICK = "fs.truncate*,fs.chmod*,meta.git_hook,meta.codex_missing,path.symlink_*,priv.core_pattern"
QUICK += ",priv.kill_host,priv.proc_list_host,net.unix_h*,net.asyncio_*,net.own_l*,inherit.dir_fd"
QUICK += ",proc.notfound*,ipc.dev_shm_host*,priv.no_caps"

pytestmark = pytest.mark.skipif(
    not SCRIPT.exists(), reason="the battery in ../shared/conformance is not here"
)


def declared(policy, user, *, unsteady=False):
    """The gaps of a policy for a kind of user: those that always show, or those that may."""
    return {
        probe
        for gap in GAPS.values()
        if policy in gap["policies"] and gap.get("user", user) == user
        if gap.get("unsteady", False) == unsteady
        for probe in gap["probes"]
    }


@pytest.fixture(params=["root", "ordinary"])
def battery(request, backend):
    if importlib.util.find_spec("ferrule") is None:
        pytest.skip("needs the ferrule command")
    is_root = os.geteuid() == 0
    if request.param == "root" and not is_root:
        pytest.skip("needs root")
    with tempfile.TemporaryDirectory(dir="/var/tmp", ignore_cleanup_errors=True) as folder:
        os.chmod(folder, 0o755)
        base = Path(folder, "base")
        base.mkdir()
        if request.param == "ordinary" and is_root:
            python = everybodys_python(Path(folder, "python"))
            yield "ordinary", Battery(base, OPTIONS, NOBODY, python)
        else:
            yield request.param, Battery(base, OPTIONS)


def everybodys_python(folder):
    """Make an environment like ours of an interpreter that every user may execute."""
    ours = Path(sysconfig.get_path("purelib"))
    system = "/usr/bin/python{}.{}".format(*sys.version_info)
    if not os.path.exists(system):
        pytest.skip(f"needs {system}")
    made = subprocess.run(
        [system, "-m", "venv", "--without-pip", folder], capture_output=True, check=False
    )
    if made.returncode:
        pytest.skip(f"needs the module venv of {system}")
    site = next(folder.glob("lib/python*/site-packages"))
    for path in (*ours.glob("*ferrule*.pth"), *ours.glob("ferrule*.dist-info")):
        copy = shutil.copytree if path.is_dir() else shutil.copy
        copy(path, site / path.name)
    (site / "others.pth").write_text(f"import site; site.addsitedir({str(ours)!r})\n")
    return str(folder / "bin" / "python")


@pytest.mark.timeout(600)
def test_a_sample_of_the_battery_holds(battery):
    user, battery = battery
    expected = {"fs.chmod_outside", "meta.git_hook", "meta.codex_missing", "priv.proc_list_host"}
    expected |= {"net.own_loopback_server", "ipc.dev_shm_host_file"}
    assert expected <= declared("ww", user)
    assert battery.shortfalls("ww", QUICK).keys() == expected


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("policy", ["ro", "ww", "net", "extra"])
def test_each_declared_gap_is_a_gap_and_everything_else_holds(battery, policy):
    user, battery = battery
    found = battery.shortfalls(policy).keys() - declared(policy, user, unsteady=True)
    assert found == declared(policy, user)


def test_every_declared_gap_has_a_reason():
    assert all(len(gap["why"]) > 20 for gap in GAPS.values())
