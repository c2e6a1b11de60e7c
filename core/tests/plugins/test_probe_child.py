"""The process that imports plugins ends with its host and leaves nothing behind."""

import os
import subprocess
import sys

# The host is gone at the moment at which a file is to be removed; who ends this process then may.
CHILD = """
import os, sys, threading, time
theirs, host = os.pipe()
os.dup2(theirs, 0)

def leave(event, arguments):
    global host
    if event == "os.remove" and host is not None:
        number, host = host, None
        os.close(number)
        while threading.active_count() > 1:
            time.sleep(0.001)

from ferrule.probe_child import main
sys.addaudithook(leave)
main([])
"""


def test_a_host_that_is_killed_before_the_first_import_leaves_no_file(tmp_path):
    environ = {**os.environ, "TMPDIR": str(tmp_path)}

    subprocess.run(
        [sys.executable, "-c", CHILD], stdin=subprocess.DEVNULL, env=environ, check=False
    )

    assert list(tmp_path.iterdir()) == []
