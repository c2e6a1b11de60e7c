"""Codex's own terminal interface drives `ferrule app-server` over a WebSocket, in tmux.

`FERRULE_TEST_NODE_MODULES` names the `node_modules` folder that holds `@openai/codex`.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

BINARIES = "@openai/codex*/vendor/*/bin/codex"
NOT_YET = {"compact": 6}
"""Phases that wait for another issue, by the number its title begins with."""


@pytest.fixture(scope="session")
def codex(missing_here) -> Path:
    if shutil.which("tmux") is None:
        missing_here("tmux is not installed; Codex's terminal interface was not tried")
    modules = Path(os.environ.get("FERRULE_TEST_NODE_MODULES", "node_modules"))
    found = [path for path in modules.glob(BINARIES) if "0.169" in version(path)]
    if not found:
        missing_here(f"no codex 0.169 in {modules} (set FERRULE_TEST_NODE_MODULES); not tried")
    return found[0].resolve()


def version(binary: Path) -> str:
    return subprocess.run([binary, "--version"], capture_output=True, text=True, check=False).stdout


@pytest.mark.timeout(600)
def test_every_phase_of_a_session(codex, recorded, free_ports, ferrule):
    work = tempfile.mkdtemp(prefix="tui-", dir="/var/tmp")
    try:
        done = subprocess.run(
            [
                sys.executable,
                recorded.folder / "drive_tui.py",
                *("--codex", codex, "--work", Path(work, "w"), "--out", Path(work, "log.jsonl")),
                *("--ports", str(free_ports(3)), "--server"),
                f"env FERRULE_HOME={work}/w/home {ferrule} app-server",
            ],
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        shutil.rmtree(work, ignore_errors=True)
    failed = re.findall(r"^FAIL (\w+)", done.stdout, re.MULTILINE)
    assert "phases ok" in done.stdout, done.stdout + done.stderr
    assert [name for name in failed if name not in NOT_YET] == [], done.stdout
