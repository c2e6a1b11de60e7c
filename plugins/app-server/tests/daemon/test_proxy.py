"""Programs that speak over pipes reach the daemon through the proxy."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import threading

import pytest

pytestmark = pytest.mark.skipif(os.name != "posix", reason="a daemon needs unix sockets")
HELLO = {"id": 1, "method": "initialize", "params": {"clientInfo": {"name": "x", "version": "1"}}}
LIST = {"id": 2, "method": "thread/loaded/list", "params": {}}


def lines(*messages):
    return "".join(f"{json.dumps(message)}\n" for message in messages)


def replies(text):
    found = [json.loads(line) for line in text.splitlines()]
    return {message["id"]: message for message in found if "id" in message}


def test_lines_go_to_the_daemon_and_back(daemon):
    daemon("start")
    done = daemon.run("proxy", stdin=lines(HELLO, LIST))

    assert done.returncode == 0, done.stderr
    assert replies(done.stdout)[1]["result"]["userAgent"].startswith("x/")
    assert replies(done.stdout)[2]["result"]["data"] == []


def test_it_talks_until_stdin_ends(daemon):
    daemon("start")
    process = daemon.begin("proxy", stdin=subprocess.PIPE)
    for message in (HELLO, LIST):
        process.stdin.write(lines(message))
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["id"] == message["id"]
    out, err = process.communicate(timeout=120)

    assert (process.returncode, err) == (0, "")
    assert not replies(out)


def test_long_lines_and_a_last_one_without_an_end_are_whole(daemon):
    daemon("start")
    long = {**LIST, "id": 3, "filler": "é" * 1_000_000}
    done = daemon.run("proxy", stdin=lines(HELLO, long) + "\n \n" + json.dumps(LIST))

    assert set(replies(done.stdout)) == {1, 2, 3}


def test_two_proxies_are_two_clients(daemon):
    daemon("start")
    for _ in range(2):
        assert "result" in replies(daemon.run("proxy", stdin=lines(HELLO)).stdout)[1]


@pytest.mark.parametrize("named", [(), ("--sock", "/nowhere/s.sock")], ids=["usual", "named"])
def test_without_a_server_it_says_how_to_start_one(daemon, named):
    done = daemon.run("proxy", *named, stdin="")

    assert done.returncode == 1
    assert done.stderr.startswith("error: no server listens at ")
    assert "ferrule app-server daemon start" in done.stderr


@pytest.mark.parametrize("prefix", ["", "unix://"])
def test_another_socket_can_be_named(daemon, prefix):
    daemon("start")
    done = daemon.run("proxy", "--sock", f"{prefix}{daemon.socket}", stdin=lines(HELLO))

    assert "result" in replies(done.stdout)[1]


def test_a_server_that_goes_away_ends_it(daemon):
    daemon("start")
    process = daemon.begin("proxy", stdin=subprocess.PIPE)
    process.stdin.write(lines(HELLO))
    process.stdin.flush()
    process.stdout.readline()
    os.kill(daemon.pid(), signal.SIGKILL)

    assert process.wait(120) == 1
    assert process.stderr.read() == "error: the server has closed the connection\n"
    process.communicate()


def test_a_server_that_speaks_no_websocket_is_said(daemon, tmp_path):
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(tmp_path / "s"))
        other.listen()
        threading.Thread(target=lambda: other.accept()[0].close()).start()
        done = daemon.run("proxy", "--sock", str(tmp_path / "s"), stdin="")

    assert done.returncode == 1
    assert "does not let anybody in" in done.stderr
