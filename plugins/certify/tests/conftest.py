"""`ferrule sandbox` in a home of its own, with folders that every user may enter."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import pytest


class Run(NamedTuple):
    code: int
    output: str
    errors: str

    @property
    def certificate(self):
        return json.loads(self.output)

    def verdicts(self):
        return {probe["id"]: probe["verdict"] for probe in self.certificate["probes"]}


@pytest.fixture
def stage():
    """A folder outside of temporary ones, as those may be writable in a sandbox."""
    above = Path("/var/tmp")
    folder = Path(tempfile.mkdtemp(prefix="fc", dir=above if above.is_dir() else None))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def home(tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    return home


@pytest.fixture
def sandbox(stage, home):
    """Runs `ferrule sandbox WORD ...`."""

    def sandbox(word, *arguments, before=(), config=""):
        if config:
            (home / "config.toml").write_text(config)
        if word == "certify":
            arguments = (*arguments, "--stage", str(stage))
        ended = subprocess.run(
            [sys.executable, "-m", "ferrule", *before, "sandbox", word, *arguments],
            env={**os.environ, "FERRULE_HOME": str(home), "HOME": str(home)},
            cwd=stage,
            capture_output=True,
            text=True,
        )
        return Run(ended.returncode, ended.stdout, ended.stderr)

    return sandbox
