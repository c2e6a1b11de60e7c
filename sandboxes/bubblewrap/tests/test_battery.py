"""The recorded sandbox battery, through `ferrule sandbox`; what falls short is declared, with why.

Slow: hundreds of commands, each with a start of the whole program.
"""

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

HERE = Path(__file__).parent
BATTERY = HERE.parents[3] / "shared" / "conformance" / "sandbox" / "sandbox_battery.py"
GAPS = json.loads((HERE / "declared_gaps.json").read_text("utf-8"))
POLICIES = {
    "ro": ["-s", "read-only"],
    "ww": ["-s", "workspace-write"],
    "net": ["-s", "workspace-write", "-c", "sandbox_workspace_write.network_access=true"],
    "extra": ["-s", "workspace-write", "--add-dir", "{extra}"],
    "dr": ["-s", "workspace-write", "--deny-read", "{secret}", "--deny-read", "{glob}"],
}
# A sample of every family that is quick enough for every run; `--run-slow` runs all of them.
QUICK = "meta.git_hook,meta.git_missing_*,path.symlink_*,ns.userns_re*,priv.core_pattern"
QUICK += ",net.unix_h*,net.asyncio_*,inherit.dir_fd,proc.notfound*,bg.sigkill*,fs.read_ssh_key"

pytestmark = pytest.mark.skipif(
    not BATTERY.exists(), reason="the battery in ../shared/conformance is not here"
)


@pytest.fixture
def base(backend):
    """A folder outside of the temporary folders, which commands may write."""
    if importlib.util.find_spec("ferrule") is None:
        pytest.skip("needs the ferrule command")
    with tempfile.TemporaryDirectory(dir="/var/tmp", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@pytest.fixture
def run_battery(base):
    home = base / "home"
    home.mkdir()
    (home / "auth.json").write_text("{}")

    def run_battery(policy, only):
        launcher = [sys.executable, "-m", "ferrule", "sandbox"]
        adapter = {
            "name": "ferrule",
            "env": {"FERRULE_HOME": str(home)},
            "harness_home": str(home),
            "policies": {policy: [*launcher, *POLICIES[policy], "--"]},
        }
        (base / "adapter.json").write_text(json.dumps(adapter))
        results = {}
        for name, arguments in (
            ("control", ["--adapter", "none", "--policies", "full"]),
            ("ours", ["--adapter", str(base / "adapter.json"), "--policies", policy]),
        ):
            output = base / f"{name}.json"
            port = str(20_000 + os.getpid() % 20_000)
            places = ["--base", str(base / "work"), "--json", str(output), "--port", port]
            subprocess.run(
                [sys.executable, str(BATTERY), *arguments, "--only", only, *places],
                check=True,
                capture_output=True,
            )
            results[name] = json.loads(output.read_text("utf-8"))["results"]
        return results

    return run_battery


def shortfalls(results, policy):
    """What fails although the bare machine allows it, and is not declared."""
    bare = {probe: found["full"]["v"] for probe, found in results["control"].items()}
    return {
        probe: (found[policy]["v"], found[policy]["d"])
        for probe, found in results["ours"].items()
        if found[policy]["ok"] is False
        and probe not in GAPS
        and not (found[policy]["exp"] == "D" and bare.get(probe) not in (None, *"AYZNL"))
    }


@pytest.mark.timeout(300)
@pytest.mark.parametrize("policy", ["ww"])
def test_a_sample_of_the_battery_holds(run_battery, policy):
    results = run_battery(policy, QUICK)
    assert len(results["ours"]) > 15
    assert shortfalls(results, policy) == {}


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("policy", POLICIES)
def test_the_whole_battery_holds(run_battery, policy):
    results = run_battery(policy, "*")
    assert len(results["ours"]) > 150
    assert shortfalls(results, policy) == {}


def test_every_declared_gap_has_a_reason():
    assert all(len(reason) > 20 for reason in GAPS.values())
