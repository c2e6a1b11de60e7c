"""A home whose daemon is ended with the test."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest

from ferrule_testkit.home import make_home


class Daemon:
    """The daemon of a home, by its command line."""

    def __init__(self, home):
        self.home = home
        self.folder = home.path / "run"
        self.socket = self.folder / "app-server.sock"
        self.record = self.folder / "app-server.json"
        self.log = self.folder / "app-server.log"

    def begin(self, *arguments, **options):
        """Begin a command; returns the process."""
        usual = {
            "stdin": subprocess.DEVNULL,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
            "text": True,
            "env": self.home.environ,
            "cwd": self.home.workspace,
        }
        argv = self.home.command(["app-server", *arguments])
        return subprocess.Popen(argv, **{**usual, **options})

    def __call__(self, *arguments, stdin=None):
        """Run a command of `daemon` to its end."""
        return self.run("daemon", *arguments, stdin=stdin)

    def run(self, *arguments, stdin=None):
        """Run a sub-command of the server to its end."""
        pipe = subprocess.DEVNULL if stdin is None else subprocess.PIPE
        process = self.begin(*arguments, stdin=pipe)
        out, err = process.communicate(stdin, timeout=120)
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)

    def status(self):
        """What it says of itself."""
        return json.loads(self("status", "--json").stdout)

    def pid(self):
        return self.status()["pid"]


@pytest.fixture
def daemon_of(model_server):
    """Makes daemons of homes in a folder with a short name, for names of sockets are bounded."""
    made = []
    with tempfile.TemporaryDirectory(prefix="fd") as folder:

        def make(name):
            made.append(Daemon(make_home(Path(folder) / name, model_server.base_url)))
            return made[-1]

        yield make
        for daemon in made:
            if pid := daemon.record.exists() and daemon.status().get("pid"):
                os.kill(pid, signal.SIGKILL)


@pytest.fixture
def daemon(daemon_of):
    return daemon_of("d")
