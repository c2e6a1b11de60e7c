"""R24: `plugins new` gives a package that passes `plugins check` unchanged, and works."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

KINDS = ("tool", "reviewer", "sandbox", "provider", "transport", "hooks", "command")
WALK = Path(__file__).parents[3] / "benchmarks" / "plugin_new.py"


def test_r24_a_new_plugin_passes_the_check_unchanged(run_ferrule, tmp_path):
    new = run_ferrule("plugins", "new", "acme-ticket", "--kind", "tool", "--path", str(tmp_path))
    folder = tmp_path / "ferrule-acme-ticket"
    check = run_ferrule("plugins", "check", "--json", str(folder))
    shown = run_ferrule("--dev-plugin", str(folder), "plugins", "show", "ferrule-acme-ticket")

    assert (new.returncode, check.returncode, shown.returncode) == (0, 0, 0), check.stdout
    told = json.loads(check.stdout)
    assert {each["rule"] for each in told["findings"]} <= {"metadata.license", "metadata.author"}
    assert "acme_ticket" in shown.stdout


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", KINDS)
def test_r24_each_kind_is_built_installed_tested_checked_and_used(wheels, kind):
    if shutil.which("uv") is None:
        pytest.skip("uv is not installed")
    argv = [sys.executable, WALK, "--kind", kind, "--wheels", wheels]

    walked = subprocess.run(argv, capture_output=True, text=True, timeout=500)

    assert walked.returncode == 0, walked.stdout + walked.stderr
