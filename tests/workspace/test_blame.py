"""What a failed test leaves open is its own fault, and no other's."""

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
TESTS = """
import gc
import socket

def test_that_fails():
    left_open = socket.socket()
    raise AssertionError(left_open)

def test_after_it():
    gc.collect()
"""


def test_a_socket_that_a_failed_test_leaves_open_fails_no_other(tmp_path):
    shutil.copy(ROOT / "conftest.py", tmp_path)
    (tmp_path / "test_two.py").write_text(TESTS)
    options = ("-q", "-W", "error", "-p", "no:cacheprovider", "-p", "no:xdist", "-c", "/dev/null")
    argv = [sys.executable, "-m", "pytest", "--color=no", *options, "--rootdir", tmp_path, tmp_path]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)

    assert "1 failed, 1 passed, 1 error" in done.stdout
    (blamed,) = (line for line in done.stdout.splitlines() if line.startswith("ERROR "))
    assert "::test_that_fails" in blamed
    assert "unclosed <socket.socket" in done.stdout
