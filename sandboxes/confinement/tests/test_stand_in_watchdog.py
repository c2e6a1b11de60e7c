"""What ends with a session that was killed, and what does not."""

import os
import signal
import subprocess
import sys
import time

from ferrule_testkit.processes import is_running

SESSION = """
import os, signal, subprocess, sys
from ferrule_confinement.placeholders import place
from ferrule_confinement.stand_in_watchdog import Watchdog
watchdog = Watchdog()
folder = sys.argv[1] + "/.git"
watchdog.watch("d", folder)
place([folder])
leash = watchdog.leash()
_, other = os.pipe()
if sys.argv[2:] == ["again"]:
    (shell,) = open(f"/proc/self/task/{os.getpid()}/children").read().split()
    os.kill(int(shell), signal.SIGKILL)
    os.waitid(os.P_PID, int(shell), os.WEXITED | os.WNOWAIT)
    watchdog.leash()
for held in [(leash,), (other,), ()]:
    command = ["sleep", "3600"]
    sleeper = subprocess.Popen(command, pass_fds=held, stdout=subprocess.DEVNULL)
    print(sleeper.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def killed(tmp_path, *words):
    """Run the session to its end; returns who held its leash, and who did not."""
    argv = [sys.executable, "-c", SESSION, str(tmp_path), *words]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as session:
        holder, *others = (int(line) for line in session.stdout)
    try:
        deadline = time.monotonic() + 120
        while (tmp_path / ".git").exists():  # what goes last
            assert time.monotonic() < deadline
            time.sleep(0.01)
    except BaseException:
        end([holder, *others])
        raise
    return holder, others


def end(pids):
    running = [pid for pid in pids if is_running(pid)]
    for pid in running:
        os.kill(pid, signal.SIGKILL)
    return running


def test_what_holds_the_leash_ends_before_the_stand_ins_and_nothing_else_does(tmp_path):
    holder, others = killed(tmp_path)

    assert (end([holder]), end(others)) == ([], others)


def test_a_watchdog_that_was_killed_is_replaced_and_the_leash_stays(tmp_path):
    holder, others = killed(tmp_path, "again")

    assert (end([holder]), end(others)) == ([], others)
