"""Ferrule's MCP client against the conformance suite, scenario by scenario."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

HERE = Path(__file__).parent
SCENARIOS = tomllib.loads((HERE / "client.toml").read_text())["scenarios"]
APPLYING = [name for name, each in SCENARIOS.items() if each["result"] == "pass"]
SUITE, NODE = "FERRULE_TEST_MCP_CONFORMANCE", "FERRULE_TEST_NODE22"

pytestmark = pytest.mark.slow


@pytest.fixture
def suite(tmp_path):
    """Runs the suite's program with some arguments in a folder of its own."""
    for name in (SUITE, NODE):
        if not os.path.exists(os.environ.get(name, "")):
            pytest.skip(f"{name} names nothing; `.ci/start test` fetches the suite and sets it")

    def run(*arguments):
        command = [os.environ[NODE], os.environ[SUITE], *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    return run


def test_every_scenario_is_judged_and_what_does_not_apply_says_why(suite):
    listed = suite("list", "--client").stdout

    found = {line.split()[1] for line in listed.splitlines() if line.startswith("  - ")}
    assert found == set(SCENARIOS)
    reasons = [each.get("reason") for each in SCENARIOS.values() if each["result"] != "pass"]
    assert all(reasons)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", APPLYING)
def test_the_client_passes(suite, name):
    client = f"{sys.executable} {HERE / 'conformance_client.py'}"

    run = suite(
        *("client", "--command", client, "--scenario", name),
        *("--output-dir", "results", "--timeout", "120000"),
    )

    told = run.stdout + run.stderr
    assert run.returncode == 0, told
    assert "OVERALL: PASSED" in told
