"""The program keeps its memory to itself, and still does its work."""

import json
import os
import resource
import subprocess
import sys

import pytest

from ferrule.doctor.machine import hardening_check
from ferrule.hardening import Hardening

LOOK = """
import json, os, runpy, sys
from ferrule.hardening import examine
def run(argv, environ):
    print(json.dumps([examine(environ), dict(os.environ)]))
    return 0
import ferrule.cli
ferrule.cli.run = run
from ferrule.__main__ import main
sys.exit(main())
"""
LOADER = {
    "LD_PRELOAD": "",
    "LD_AUDIT": "",
    "LD_DEBUG_OUTPUT": "/dev/null",
    "DYLD_INSERT_LIBRARIES": "/evil.dylib",
    "MallocStackLoggingNoCompact": "1",
}


@pytest.fixture
def started():
    """What the program finds of itself when it has started, and its environment."""

    def started(**environ):
        ended = subprocess.run(
            [sys.executable, "-c", LOOK],
            env={**os.environ, **environ},
            capture_output=True,
            check=True,
        )
        found, variables = json.loads(ended.stdout)
        return Hardening(*found), variables

    return started


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such limits")
def test_the_program_cannot_be_traced_and_leaves_no_core_files(started):
    found, _ = started()
    assert found == Hardening(
        is_untraceable=True if sys.platform == "linux" else None,
        has_core_files=False,
        loader_variables=[],
    )


def test_what_loads_foreign_code_is_taken_out_of_the_environment(started):
    _, variables = started(**LOADER, LD_LIBRARY_PATH="/nowhere")
    assert not LOADER.keys() & variables.keys()
    assert variables["LD_LIBRARY_PATH"] == "/nowhere"


@pytest.mark.skipif(sys.platform != "linux", reason="tells whether it can be traced")
def test_who_debugs_ferrule_may(started):
    found, variables = started(FERRULE_ALLOW_DEBUGGING="1", LD_AUDIT="")
    assert (found.is_untraceable, found.loader_variables) == (False, ["LD_AUDIT"])
    assert variables["LD_AUDIT"] == ""


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such limits")
def test_commands_may_have_core_files_again():
    code = "import resource; from ferrule.hardening import harden; harden({})"
    code += "; print(*resource.getrlimit(resource.RLIMIT_CORE))"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    assert ended.stdout.split() == [b"0", str(hard).encode()]


def test_the_doctor_says_what_is_open():
    closed = hardening_check(Hardening(True, False, ()), {})
    opened = hardening_check(
        Hardening(False, True, ("LD_PRELOAD",)), {"FERRULE_ALLOW_DEBUGGING": "1"}
    )
    assert (closed.status, opened.status) == ("ok", "warn")
    for words in ("can be traced", "core files", "LD_PRELOAD is set"):
        assert words in opened.detail
    assert opened.mend == "unset FERRULE_ALLOW_DEBUGGING"
