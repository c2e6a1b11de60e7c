"""A host that stood still for longer than an import may take does not blame the plugin for it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

LIMIT_S = 10
PATIENCE_S = 120
SLOW = """
import time
from pathlib import Path
Path({begun!r}).touch()
while not Path({go!r}).exists():
    time.sleep(0.01)
"""
HOST = """
import sys
from ferrule.index import build_index
from ferrule.probe import probe_entries
index = build_index([{site!r}], {environ!r})
[probe] = probe_entries(index.entries("ferrule.plugins"), limit_s={limit_s})
print(probe.ok, probe.fault)
"""


def until(is_so):
    deadline = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self").exists(), reason="there is no /proc")
def test_a_host_that_stood_still_goes_on_waiting_for_an_import(site, tmp_path):
    begun, go = tmp_path / "begun", tmp_path / "go"
    site.add_hooks("slow", SLOW.format(begun=str(begun), go=str(go)))
    code = HOST.format(site=str(site.folder), environ=site.environ, limit_s=LIMIT_S)
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as host:
        try:
            until(begun.exists)
            os.kill(host.pid, signal.SIGSTOP)
            stat = Path(f"/proc/{host.pid}/stat")
            until(lambda: stat.read_text().rpartition(")")[2].split()[0] == "T")
            time.sleep(LIMIT_S + 1)
            os.kill(host.pid, signal.SIGCONT)
            go.touch()
            assert host.communicate(timeout=PATIENCE_S)[0] == "True \n"
        finally:
            go.touch()
            host.kill()
