"""The recorded sandbox battery, through `ferrule sandbox`; what falls short is declared, with why.

Slow: hundreds of commands, each with a start of the whole program.
"""

import importlib.util
import json
import tempfile
from pathlib import Path

import pytest

from ferrule_testkit.battery import POLICIES, SCRIPT, Battery

GAPS = json.loads((Path(__file__).parent / "declared_gaps.json").read_text("utf-8"))
# A sample of every family that is quick enough for every run; `--run-slow` runs all of them.
QUICK = "meta.git_hook,meta.git_missing_*,path.symlink_*,ns.userns_re*,priv.core_pattern"
QUICK += ",net.unix_h*,net.asyncio_*,inherit.dir_fd,proc.notfound*,bg.sigkill*,fs.read_ssh_key"

pytestmark = pytest.mark.skipif(
    not SCRIPT.exists(), reason="the battery in ../shared/conformance is not here"
)


@pytest.fixture
def battery(backend):
    if importlib.util.find_spec("ferrule") is None:
        pytest.skip("needs the ferrule command")
    with tempfile.TemporaryDirectory(dir="/var/tmp", ignore_cleanup_errors=True) as folder:
        yield Battery(Path(folder))


@pytest.mark.timeout(600)
@pytest.mark.parametrize("policy", ["ww"])
def test_a_sample_of_the_battery_holds(battery, policy):
    assert battery.shortfalls(policy, QUICK).keys() <= GAPS.keys()


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("policy", POLICIES)
def test_the_whole_battery_holds(battery, policy):
    assert battery.shortfalls(policy).keys() <= GAPS.keys()


def test_every_declared_gap_has_a_reason():
    assert all(len(reason) > 20 for reason in GAPS.values())
