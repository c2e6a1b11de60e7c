"""Ferrule's MCP server against the conformance suite, and the page that says how it went."""

import json
import os
import subprocess
import sys
import tomllib
from contextlib import contextmanager
from pathlib import Path

import pytest

from ferrule_testkit.surroundings import free_port

HERE = Path(__file__).parent
SCENARIOS = tomllib.loads((HERE / "server.toml").read_text())["scenarios"]
SUITE, NODE = "FERRULE_TEST_MCP_CONFORMANCE", "FERRULE_TEST_NODE22"


@pytest.fixture
def suite(tmp_path):
    """Runs the suite's program in a folder of its own."""
    for name in (SUITE, NODE):
        if not os.path.exists(os.environ.get(name, "")):
            pytest.skip(f"{name} names nothing; `.ci/start test` fetches the suite and sets it")

    def run(*arguments):
        command = [os.environ[NODE], os.environ[SUITE], *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    return run


@contextmanager
def server(home):
    port = free_port()
    origins = [f"http://{host}:{port}" for host in ("localhost", "127.0.0.1")]
    home.configure(tables=f"[transports.http]\nallowed_origins = {json.dumps(origins)}\n")
    command = home.command(["mcp-server", "--http", f"127.0.0.1:{port}"])
    with subprocess.Popen(
        command, env=home.environ, cwd=home.workspace, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stderr is not None
            yield next(line.split()[-1] for line in process.stderr if "listening on" in line)
        finally:
            process.terminate()


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_every_scenario_is_judged_and_those_that_apply_pass(suite, ferrule_home, tmp_path):
    with server(ferrule_home) as url:
        run = suite("server", "--url", url, "--suite", "all", "-o", "results")

    results = {}
    for folder in (tmp_path / "results").iterdir():
        name = folder.name.removeprefix("server-").rsplit("-", 6)[0]
        checks = json.loads((folder / "checks.json").read_text())
        # A scenario can have nothing to check, which is no pass.
        results[name] = bool(checks) and all(each["status"] == "SUCCESS" for each in checks)
    assert set(results) == set(SCENARIOS), run.stdout
    applying = {name for name, each in SCENARIOS.items() if each["result"] == "pass"}
    assert {name for name in applying if not results[name]} == set(), run.stdout
    assert all(each.get("reason") for name, each in SCENARIOS.items() if name not in applying)


def test_the_page_says_what_the_lists_say():
    check = subprocess.run([sys.executable, HERE / "report.py", "--check"], check=False)
    assert check.returncode == 0, "run `python tests/e2e/mcp/report.py`"
