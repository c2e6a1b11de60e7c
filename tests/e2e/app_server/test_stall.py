"""A server that stood still for longer than its time limits loses nothing that came meanwhile."""

from __future__ import annotations

import os
import signal
import socket
import time
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from ferrule_testkit.app_server_process import AppServerProcess

pytestmark = pytest.mark.skipif(not Path("/proc/self").exists(), reason="there is no /proc")
PATIENCE_S = 120
LIMIT_S = 2
IDLE_LIMIT_S = 30
ASKED = b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n"
POSTED = b"POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nExpect: 100-continue\r\n"


@pytest.fixture
def server(ferrule_home):
    ferrule_home.configure(tables=f"[transports.http]\nhandshake_timeout_s = {LIMIT_S}")
    with AppServerProcess(ferrule_home, "http://127.0.0.1:0") as server:
        yield server


def answer_after_a_stall(server, prepare, data, limit_s):
    """Send something on a prepared socket while the server stands still for too long.

    Where this machine itself stands still before that, it is tried again.
    """
    host, _, port = urlsplit(server.urls["http"]).netloc.rpartition(":")
    while True:
        begun = time.monotonic()
        with socket.create_connection((host, int(port)), PATIENCE_S) as link:
            try:
                prepare(server, link)
            except (OSError, AssertionError):
                if time.monotonic() - begun < limit_s:
                    raise
                continue
            with stopped(server.process):
                if time.monotonic() - begun > limit_s:
                    continue
                link.sendall(data)
                time.sleep(limit_s + 1)
            return answer(link)


@contextmanager
def stopped(process):
    """Have it stand still while it waits; what came before that it has read."""
    deadline = time.monotonic() + PATIENCE_S
    while Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] != "S":
        assert time.monotonic() < deadline, "it is busy all the time"
        time.sleep(0.01)
    process.send_signal(signal.SIGSTOP)
    try:
        os.waitpid(process.pid, os.WUNTRACED)
        yield
    finally:
        process.send_signal(signal.SIGCONT)


def answer(link):
    """Read one answer whole; returns its status, or None where the server has hung up."""
    length = 0
    with link.makefile("rb") as lines:
        status = lines.readline().split()
        while line := lines.readline().strip():
            name, _, value = line.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        lines.read(length)
    return int(status[1]) if status else None


def secret_of(server):
    """Open a connection of the protocol; whoever came before is known to the server by then."""
    with closing(HTTPConnection(urlsplit(server.urls["http"]).netloc, timeout=PATIENCE_S)) as other:
        other.request("POST", "/connection")
        with other.getresponse() as opened:
            return opened.headers["Ferrule-Connection"].encode()


def test_a_request_that_came_on_a_new_socket_is_answered(server):
    def come(server, link):
        secret_of(server)

    assert answer_after_a_stall(server, come, ASKED, LIMIT_S) == 200


def test_a_body_that_came_is_taken(server):
    def announce(server, link):
        link.sendall(POSTED + b"Ferrule-Connection: " + secret_of(server) + b"\r\n\r\n")
        assert answer(link) == 100

    assert answer_after_a_stall(server, announce, b"{}", LIMIT_S) == 202


@pytest.mark.slow
def test_a_request_that_came_on_an_idle_socket_is_answered(server):
    def ask(server, link):
        link.sendall(ASKED)
        assert answer(link) == 200

    assert answer_after_a_stall(server, ask, ASKED, IDLE_LIMIT_S) == 200
