"""A log that many words do not make large."""

from __future__ import annotations

import stat
import subprocess
import sys

from ferrule_app_server.daemon.bounded_log import BoundedLog

SPEAKING = """
import os, subprocess, sys
from pathlib import Path
from ferrule_app_server.daemon.bounded_log import BoundedLog, logging_output

with logging_output(BoundedLog(Path(sys.argv[1]))):
    print("said", flush=True)
    os.write(2, b"complained\\n")
    subprocess.run(["echo", "by a child"])
print("nowhere")
"""


def test_two_files_of_bounded_size_have_the_latest(tmp_path):
    log = BoundedLog(tmp_path / "log", limit=100)
    for number in range(50):
        log.write(f"line {number:04}\n".encode())

    files = sorted(tmp_path.iterdir())
    assert [file.name for file in files] == ["log", "log.1"]
    assert all(file.stat().st_size <= 100 for file in files)
    assert all(stat.S_IMODE(file.stat().st_mode) == 0o600 for file in files)
    assert log.tail().endswith("line 0049")


def test_a_log_that_cannot_be_written_stops_nobody(tmp_path):
    elsewhere = tmp_path / "elsewhere"
    (tmp_path / "log").symlink_to(elsewhere)
    BoundedLog(tmp_path / "log").write(b"x")
    BoundedLog(tmp_path / "no" / "folder").write(b"x")

    assert not elsewhere.exists()
    assert BoundedLog(tmp_path / "none").tail() == ""


def test_all_that_a_process_and_its_children_say_is_in_it(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", SPEAKING, str(tmp_path / "log")], capture_output=True, check=True
    )

    assert (done.stdout, done.stderr) == (b"", b"")
    assert (tmp_path / "log").read_text() == "said\ncomplained\nby a child\n"
