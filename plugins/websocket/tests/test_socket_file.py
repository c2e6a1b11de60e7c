"""A unix socket is private, is never taken from a living server, and a dead one's is free."""

from __future__ import annotations

import os
import signal
import socket
import stat
import subprocess
import sys

import anyio
import pytest

from ferrule_hookspecs.errors import FerruleError
from ferrule_websocket.socket_file import claimed

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(os.name != "posix", reason="there are no unix sockets"),
]
SERVING = """
import sys, anyio
from pathlib import Path
from ferrule_hookspecs import PluginContext
from ferrule_hookspecs.serving import Endpoint
from ferrule_testkit.echo_server import EchoServer
from ferrule_websocket.transports import UnixTransport

transport = UnixTransport(PluginContext(home=Path("/nowhere"), config={}))
anyio.run(transport.serve, EchoServer(), Endpoint(sys.argv[1]), lambda url: print(url, flush=True))
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run" / "s.sock"


@pytest.fixture
def other_process(path):
    process = subprocess.Popen(
        [sys.executable, "-c", SERVING, f"unix://{path}"], stdout=subprocess.PIPE
    )
    assert process.stdout.readline()
    yield process
    process.kill()
    process.communicate()


async def test_only_the_user_can_connect(serve, path):
    async with serve("unix", f"unix://{path}"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


async def test_nothing_is_left_behind(serve, path):
    async with serve("unix", f"unix://{path}"):
        assert path.is_socket()

    assert not list(path.parent.iterdir())


async def test_without_a_path_it_is_the_socket_of_the_home(serve, tmp_path):
    async with serve("unix", "unix://") as served:
        assert served.path == f"{tmp_path}/run/app-server.sock"
        assert await served.echoes()


async def test_a_living_server_keeps_its_socket(serve, path):
    async with serve("unix", f"unix://{path}") as served:
        with (
            pytest.raises(FerruleError, match=f"a server already listens at {path}"),
            claimed(path),
        ):
            pytest.fail("it was taken")

        assert await served.echoes()


async def test_a_server_that_knows_no_locks_keeps_its_socket_too(path):
    path.parent.mkdir()
    with socket.socket(socket.AF_UNIX) as stranger:
        stranger.bind(str(path))
        stranger.listen()
        with pytest.raises(FerruleError, match="a server already listens"), claimed(path):
            pytest.fail("it was taken")

    assert path.is_socket()


async def test_the_socket_of_a_killed_server_is_free(serve, path, other_process):
    other_process.send_signal(signal.SIGKILL)
    other_process.wait()
    assert path.is_socket()

    async with serve("unix", f"unix://{path}") as served:
        assert await served.echoes()


async def test_of_many_that_want_a_dead_socket_one_gets_it(path, other_process):
    other_process.send_signal(signal.SIGKILL)
    other_process.wait()
    argv = [sys.executable, "-c", SERVING, f"unix://{path}"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    racers = [subprocess.Popen(argv, **pipes) for _ in range(4)]
    try:
        with anyio.fail_after(120):
            while sum(racer.poll() is None for racer in racers) > 1:
                await anyio.sleep(0.01)
        (winner,) = (racer for racer in racers if racer.poll() is None)
        assert winner.stdout.readline().decode().strip() == f"unix://{path}"
    finally:
        for racer in racers:
            racer.kill()
            racer.communicate()


async def test_a_file_that_is_no_socket_is_not_removed(path):
    path.parent.mkdir()
    path.write_text("precious")
    with pytest.raises(FerruleError, match="a file is there that is no socket"), claimed(path):
        pytest.fail("it was taken")

    assert path.read_text() == "precious"


async def test_a_link_in_place_of_the_lock_is_not_followed(path, tmp_path):
    path.parent.mkdir()
    (path.parent / "s.sock.lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FerruleError, match="cannot listen at"), claimed(path):
        pytest.fail("it was taken")

    assert not (tmp_path / "elsewhere").exists()


async def test_a_folder_that_others_can_write_is_refused(path):
    path.parent.mkdir()
    path.parent.chmod(0o777)
    with pytest.raises(FerruleError, match=r"others could .*chmod go-w"), claimed(path):
        pytest.fail("it was taken")


async def test_a_path_too_long_for_a_socket_is_said(tmp_path):
    path = tmp_path / ("x" * 100)
    with pytest.raises(FerruleError, match="too long for a unix socket"), claimed(path):
        pytest.fail("it was taken")
