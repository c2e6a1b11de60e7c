"""Tab completion in the shells themselves: a person types, presses Tab and Enter."""

import os
import select
import shutil
import sys
import time
from pathlib import Path

import pytest

pty = pytest.importorskip("pty")

BIN = Path(sys.executable).parent
LINE_START, LINE_END = "\x01", "\x05"
SHELLS = {
    "bash": (["--norc", "--noprofile", "-i"], "source <(ferrule completion bash); PS1='READY> '"),
    "zsh": (
        ["-f", "-i"],
        "autoload -U compinit; compinit -u -D; source <(ferrule completion zsh); PS1='READY> '",
    ),
    "fish": (
        ["--no-config", "-i"],
        "ferrule completion fish | source; function fish_prompt; echo 'READY> '; end",
    ),
}
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


class Terminal:
    """A shell on a terminal."""

    def __init__(self, shell, environ, file):
        self.file = file
        options, setup = SHELLS[shell]
        self.pid, self.descriptor = pty.fork()
        if self.pid == 0:
            os.chdir(file.parent)
            os.execve(shutil.which(shell), [shell, *options], environ)
        self.type(f" {setup}\n")
        self.read_to("READY> ", times=2)  # once in what was typed, once as the prompt

    def type(self, text):
        os.write(self.descriptor, text.encode())

    def read_to(self, text, times=1):
        seen, end = "", time.monotonic() + 120
        while seen.count(text) < times:
            assert time.monotonic() < end, f"no {text!r} in {seen!r}"
            if select.select([self.descriptor], [], [], 1)[0]:
                seen += os.read(self.descriptor, 4096).decode(errors="replace")
        return seen

    def completed(self, line):
        """Type a line and Tab; returns the line as the shell then has it."""
        self.type(f"{line}\t{LINE_START}echo {LINE_END}> {self.file}; echo DO''NE\n")
        self.read_to("DONE")
        return self.file.read_text().strip()

    def close(self):
        os.close(self.descriptor)
        os.waitpid(self.pid, 0)


@pytest.fixture(params=SHELLS)
def terminal(request, ferrule_home, tmp_path):
    if shutil.which(request.param) is None:
        pytest.skip(f"{request.param} is not installed")
    environ = ferrule_home.environ | {
        "PATH": f"{BIN}{os.pathsep}{ferrule_home.environ['PATH']}",
        "TERM": "dumb" if request.param == "bash" else "vt100",
    }
    opened = Terminal(request.param, environ, tmp_path / "line")
    yield opened
    opened.close()


@pytest.mark.parametrize(
    ("typed", "line"),
    [
        ("ferrule conf", "ferrule config"),
        ("ferrule --saf", "ferrule --safe-mode"),
        ("ferrule config expl", "ferrule config explain"),
        ("ferrule exec --skip", "ferrule exec --skip-git-repo-check"),
        ("ferrule help exit", "ferrule help exit-codes"),
        ("ferrule update-check --js", "ferrule update-check --json"),
    ],
    ids=lambda text: text.replace(" ", "_"),
)
def test_tab_completes(terminal, typed, line):
    (terminal.file.parent / "conftest.py").touch()  # a file that is not meant

    assert terminal.completed(typed) == line


def test_where_nothing_of_ours_fits_files_are_offered(terminal):
    (terminal.file.parent / "picture.png").touch()

    assert terminal.completed("ferrule exec -i pict") == "ferrule exec -i picture.png"
