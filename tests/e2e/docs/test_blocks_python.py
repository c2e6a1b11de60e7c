"""Python that the documentation shows runs: in order, in an interpreter per page."""

import json
import os
import subprocess
import sys
from pathlib import Path

from ferrule_testkit.model_items import message

ROOT = Path(__file__).parents[3]
RUNNER = Path(__file__).with_name("page_runner.py")
PACKAGES = sorted(ROOT.glob("tests/e2e/packages/acme-*/src"))


def begin_work(home):
    """Leave the branch `main` with a change."""
    identity = ["-c", "user.name=A", "-c", "user.email=a@example.com"]
    for line in ("commit -q --allow-empty -m first", "branch -M main", "checkout -q -b work"):
        git = ["git", *identity, *line.split()]
        subprocess.run(git, cwd=home.workspace, env=home.environ, check=True)
    (home.workspace / "new.py").write_text("x = 1\n")


def test_the_blocks_of_a_page_run(python_page, ferrule_home, model_server):
    begin_work(ferrule_home)
    model_server.play([[message("done")]] * 20)
    finished = subprocess.run(
        [sys.executable, RUNNER],
        input=json.dumps(
            [
                {"as": block.mark("as"), "place": block.place, "text": block.text}
                for block in python_page
            ]
        ),
        capture_output=True,
        text=True,
        cwd=ferrule_home.workspace,
        env=os.environ
        | ferrule_home.environ
        | {"PYTHONPATH": os.pathsep.join(map(str, PACKAGES)), "PYTHONWARNINGS": "error"},
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
