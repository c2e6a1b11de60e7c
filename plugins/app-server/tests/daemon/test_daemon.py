"""The server in the background: one per home, which is found, ended, and taken for no other."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
import time
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import unix_connect

from ferrule_testkit.processes import is_running

pytestmark = pytest.mark.skipif(os.name != "posix", reason="a daemon needs unix sockets")


HELLO = """\
{"id": 1, "method": "initialize", "params": {"clientInfo": {"name": "x", "version": "1"}}}
"""


def until(condition):
    end = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.01)


def test_it_starts_is_seen_and_stops(daemon):
    assert daemon("status").returncode == 3
    started = daemon("start")
    assert started.returncode == 0, started.stderr
    assert f"runs now: unix://{daemon.socket}" in started.stdout

    seen = daemon("status")
    assert seen.returncode == 0
    assert f"runs: unix://{daemon.socket}" in seen.stdout

    stopped = daemon("stop")
    assert (stopped.returncode, stopped.stdout) == (0, "The app-server has ended.\n")
    assert daemon("status").returncode == 3
    assert not daemon.socket.exists()
    assert not daemon.record.exists()


def test_what_it_keeps_is_for_the_user_alone(daemon):
    daemon("start")

    assert stat.S_IMODE(daemon.folder.stat().st_mode) == 0o700
    for file in daemon.folder.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file


def test_starting_it_again_finds_it(daemon):
    daemon("start")
    pid = daemon.pid()
    again = daemon("start")

    assert again.returncode == 0
    assert f"runs already: unix://{daemon.socket} (process {pid}" in again.stdout


def test_of_many_starts_at_once_one_starts_it(daemon):
    starts = [daemon.begin("daemon", "start") for _ in range(4)]
    said = [start.communicate(timeout=120)[0] for start in starts]

    assert [start.returncode for start in starts] == [0] * 4
    assert sum("runs now" in text for text in said) == 1
    assert all(f"process {daemon.pid()}" in text for text in said)


def test_stopping_what_does_not_run_is_no_fault(daemon):
    stopped = daemon("stop")

    assert (stopped.returncode, stopped.stdout) == (0, "The app-server does not run.\n")


def test_it_belongs_to_no_terminal_and_not_to_who_started_it(daemon):
    daemon("start")
    pid = daemon.pid()

    assert os.getsid(pid) == pid
    assert os.readlink(f"/proc/{pid}/fd/0") == "/dev/null"
    assert os.readlink(f"/proc/{pid}/cwd") == daemon.home.environ["HOME"]


def test_one_that_was_killed_is_not_seen_and_can_be_started_again(daemon):
    daemon("start")
    killed = daemon.pid()
    os.kill(killed, signal.SIGKILL)
    until(lambda: daemon("status").returncode == 3)
    assert daemon.socket.exists()

    assert daemon("start").returncode == 0
    assert daemon.pid() != killed
    assert daemon("status").returncode == 0


def test_a_process_with_its_number_is_not_taken_for_it(daemon):
    daemon("start")
    record = json.loads(daemon.record.read_text())
    daemon("stop")
    stranger = subprocess.Popen(["sleep", "600"])
    try:
        daemon.record.write_text(json.dumps({**record, "pid": stranger.pid}))

        assert daemon("status").returncode == 3
        assert daemon("stop", "--force").stdout == "The app-server does not run.\n"
        assert stranger.poll() is None
        assert daemon("start").returncode == 0
    finally:
        stranger.kill()
        stranger.wait()


@pytest.mark.parametrize(
    "record",
    ["", "{", "[]", '{"pid": 1}', '{"pid": 1, "identity": "", "startedAt": 1, "options": []}'],
)
def test_a_record_that_means_nothing_is_no_daemon(daemon, record):
    daemon.folder.mkdir()
    daemon.record.write_text(record)

    assert daemon("status").returncode == 3
    assert daemon("stop").returncode == 0


def test_why_it_does_not_start_is_told(daemon):
    failed = daemon("start", "-c", 'approval_policy="perhaps"')

    assert failed.returncode == 1
    assert "the daemon did not start" in failed.stderr
    assert "perhaps" in failed.stderr
    assert daemon("status").returncode == 3


def test_a_socket_that_another_server_has_is_left_to_it(daemon):
    daemon.folder.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(daemon.socket))
        other.listen()
        failed = daemon("start")

    assert failed.returncode == 1
    assert f"a server already listens at {daemon.socket}" in failed.stderr


def test_stopping_tells_its_clients(daemon):
    daemon("start")
    with unix_connect(str(daemon.socket)) as client:
        stopped = daemon.begin("daemon", "stop")
        with pytest.raises(ConnectionClosed) as closed:
            client.recv()
        stopped.communicate(timeout=120)

    assert closed.value.rcvd.code == 1001


def test_a_restart_keeps_the_options_unless_others_are_given(daemon):
    daemon("start", "-c", 'model="first"')
    before = daemon.pid()
    assert daemon("restart").returncode == 0
    kept = json.loads(daemon.record.read_text())
    again = daemon("restart", "-c", 'model="second"')
    assert again.returncode == 0, again.stderr
    changed = json.loads(daemon.record.read_text())

    assert len({before, kept["pid"], changed["pid"]}) == 3
    assert kept["options"][-2:] == ["-c", 'model="first"']
    assert changed["options"][-2:] == ["-c", 'model="second"']
    assert not is_running(before)


def test_one_that_hangs_is_seen_and_only_killed_when_asked(daemon):
    daemon("start")
    pid = daemon.pid()
    os.kill(pid, signal.SIGSTOP)
    seen = daemon("status")
    waited = daemon("stop", "--timeout", "0.1")

    assert seen.returncode == 1
    assert "does not answer" in seen.stdout
    assert waited.returncode == 1
    assert "--force" in waited.stderr
    assert is_running(pid)

    assert daemon("stop", "--timeout", "0.1", "--force").returncode == 0
    assert daemon("status").returncode == 3


def test_it_can_listen_elsewhere_too(daemon):
    started = daemon("start", "--listen", "ws://127.0.0.1:0")

    assert started.returncode == 0, started.stderr
    assert "listening on: ws://127.0.0.1:" in daemon.log.read_text()


def test_what_to_write_is_told(daemon):
    for arguments in ((), ("begin",)):
        asked = daemon(*arguments)
        assert asked.returncode == 2
        assert "start|stop|status|restart" in asked.stderr
    assert "exit codes of status" in daemon("--help").stdout


def test_a_home_with_a_long_name_has_its_socket_elsewhere(daemon_of):
    daemon = daemon_of("x" * 120)
    started = daemon("start")
    assert started.returncode == 0, started.stderr
    place = Path(daemon.status()["url"].removeprefix("unix://"))

    assert place.is_socket()
    assert stat.S_IMODE(place.parent.stat().st_mode) == 0o700
    assert "result" in daemon.run("proxy", stdin=HELLO).stdout
    daemon("stop")
    assert not place.exists()
