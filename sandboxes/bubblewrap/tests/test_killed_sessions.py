"""A session or a bubblewrap that is killed at any moment leaves no stand-in and no process."""

import signal
import subprocess
import sys
import time

import pytest

# Each session is a process of its own. Nothing of its sandbox is left when its output has ended.
SESSION = """
import fcntl, os, select, signal, subprocess, sys, termios, time
from pathlib import Path
from ferrule_hookspecs.plugins import PluginContext
from ferrule_hookspecs.sandbox import Command, ResolvedPolicy, WritableRoot
from ferrule_sandbox_bubblewrap.backend import BubblewrapBackend
base = sys.argv[1]

def die():
    os.kill(os.getpid(), signal.SIGKILL)

def prepared(root, script):
    backend = BubblewrapBackend(PluginContext(Path(base, "home"), {}, root, environ=os.environ))
    backend.probe()
    names = tuple(f"{root}/{name}" for name in (".git", "commondir"))
    policy = ResolvedPolicy("workspace-write", root, (WritableRoot(root, (), names),))
    command = Command(("sh", "-c", script), root, {"PATH": "/bin:/usr/bin"})
    return backend, lambda: backend.prepare(policy, command)

def start(launch, argv, *more):
    passed = (*launch.pass_fds, *more)
    return subprocess.Popen(argv, env={}, cwd="/", pass_fds=passed)

def only_child(pid):
    while not (children := Path(f"/proc/{pid}/task/{pid}/children").read_text().split()):
        time.sleep(0.001)
    return int(children[0])

def state(pid):
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]

def hold(launch):
    "Has bubblewrap stay where it sets the sandbox up, and says when it is there."
    theirs, ours = os.pipe()
    words = (*launch.argv[:3], "--file", str(theirs), "/dev/shm/held", *launch.argv[3:])
    outer = start(launch, words, theirs)
    os.write(ours, b"x")
    while any(fcntl.ioctl(ours, termios.FIONREAD, bytes(4))):
        time.sleep(0.001)
    return outer, ours
"""

AT_EVERY_CALL = (
    SESSION
    + """
CALLS = ("posix", "fcntl", "_posixsubprocess", "resource")

def kill_after(number):
    made = 0
    def look(frame, event, function):
        nonlocal made
        if event == "c_return" and getattr(function, "__module__", "") in CALLS:
            made += 1
            if made == number:
                die()
    sys.setprofile(look)

def session(root, number):
    backend, prepare = prepared(root, "sleep 0.02")
    kill_after(number)
    launch = prepare()
    child = start(launch, launch.argv)
    launch.started()
    child.wait()
    launch.cleanup()
    sys.setprofile(None)
    backend.close()
    os._exit(0)

number = status = 1
while status:
    root = f"{base}/{number}"
    os.mkdir(root)
    pid = os.fork()
    if pid == 0:
        session(root, number)
    status = os.waitpid(pid, 0)[1]
    assert status in (0, signal.SIGKILL), status
    number += 1
print(number)
"""
)

IN_A_WINDOW = (
    SESSION
    + """
def before_it_begins(launch):
    start(launch, ("/bin/sh", "-c", 'kill -9 $PPID; exec "$@"', "sh", *launch.argv)).wait()

def before_the_sandbox_is_told_to_go_on(launch):
    theirs, ours = os.pipe()
    words = (launch.argv[0], "--userns-block-fd", str(theirs), *launch.argv[1:])
    outer = start(launch, words, theirs)
    launch.started()
    only_child(outer.pid)
    while state(outer.pid) != "S":
        time.sleep(0.001)
    die()

def while_it_mounts(launch):
    hold(launch)
    die()

def before_the_command(launch):
    "It waits to be let go on, without any rights any more."
    child = only_child(start(launch, launch.argv).pid)
    while "CapPrm:\\t0000000000000000" not in Path(f"/proc/{child}/status").read_text():
        time.sleep(0.001)
    die()

def bubblewrap_while_it_mounts(launch):
    outer, kept = hold(launch)
    launch.started()
    sandbox = os.pidfd_open(only_child(outer.pid))
    outer.kill()
    outer.wait()
    launch.cleanup()
    select.select([sandbox], [], [])
    os.close(kept)

os.mkdir(f"{base}/1")
_, prepare = prepared(f"{base}/1", "sleep 3600")
globals()[sys.argv[2]](prepare())
"""
)


@pytest.fixture
def left(backend, place):
    """Runs sessions to their ends; returns what stays of them in their folders."""

    def left(script, *arguments):
        base = place / "workspace"
        with subprocess.Popen(
            [sys.executable, "-c", script, str(base), *arguments], stdout=subprocess.PIPE
        ) as session:
            session.stdout.read()
        deadline = time.monotonic() + 120
        while found := sorted(base.glob("[0-9]*/*")):
            if time.monotonic() > deadline:
                break
            time.sleep(0.01)
        assert len([*base.glob("[0-9]*")]) > 0
        return session.returncode, found

    return left


def test_a_session_may_be_killed_after_each_of_its_calls(left):
    assert left(AT_EVERY_CALL) == (0, [])


@pytest.mark.parametrize(
    "window",
    [
        "before_it_begins",
        "before_the_sandbox_is_told_to_go_on",
        "while_it_mounts",
        "before_the_command",
    ],
)
def test_a_session_may_be_killed_while_bubblewrap_is(left, window):
    assert left(IN_A_WINDOW, window) == (-signal.SIGKILL, [])


def test_a_bubblewrap_may_be_killed_while_it_mounts(left):
    assert left(IN_A_WINDOW, "bubblewrap_while_it_mounts") == (0, [])
