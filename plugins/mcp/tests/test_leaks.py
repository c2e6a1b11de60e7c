"""Two hundred sessions with five servers each: nothing of them stays behind, however they end.

A process of its own would cost each session a second for the SDK. So many sessions are opened in
one kernel, each in a folder of its own and so with servers of its own: forty for each way to end,
in four rounds of one process where the process goes on, in two processes where it does not.
"""

import json
import signal
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from ferrule_testkit.processes import survivors

SERVERS = Path(__file__).parent / "servers"
PER_SESSION, SESSIONS = 5, 40
SIGNALS = {"ctrl-c": signal.SIGINT, "kill": signal.SIGKILL}

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture
def opened(talk, starts, tmp_path):
    """Opens sessions in a process, ends it in some way; returns what it printed."""
    command = json.dumps(sys.executable)
    args = json.dumps(["-S", "-I", str(SERVERS / "tiny_server.py"), str(starts)])
    keys = f"command = {command}\nargs = {args}\nstartup_timeout_sec = 300"
    tables = [f"[mcp_servers.s{n}]\n{keys}" for n in range(PER_SESSION)]
    talk.configure(*tables)
    folder = tmp_path / "folders"
    folder.mkdir()

    def run(ending, sessions, rounds=1):
        program = [sys.executable, str(SERVERS / "many_sessions.py"), str(talk.home.path)]
        arguments = [str(folder), ending, str(sessions), str(rounds)]
        environ = {**talk.home.environ, "HOME": str(talk.home.path)}
        with subprocess.Popen(
            [*program, *arguments], env=environ, stdout=subprocess.PIPE, text=True
        ) as process:
            told = [json.loads(process.stdout.readline()) for _ in range(rounds)]
            if ending in SIGNALS:
                process.send_signal(SIGNALS[ending])
            process.wait(300)
        return told

    run.marker = f"HOME={talk.home.path}"
    return run


def pids(starts):
    return starts.read_text().split()


def all_gone(marker):
    """Wait until nothing carries the marker, which every server has in its environment."""

    async def wait():
        with anyio.move_on_after(120):
            while survivors(marker):
                await anyio.sleep(0.05)
            return True
        return False

    return anyio.run(wait)


@pytest.mark.parametrize(("ending", "starts_each"), [("exit", 1), ("server crash", 2)])
def test_sessions_that_close_leave_no_process_and_no_descriptor(
    opened, starts, ending, starts_each
):
    descriptors = opened(ending, SESSIONS // 4, rounds=4)

    assert len(pids(starts)) == SESSIONS * PER_SESSION * starts_each
    assert max(descriptors[1:]) <= descriptors[0]
    assert all_gone(opened.marker)


@pytest.mark.parametrize("ending", ["ctrl-c", "kill", "kernel crash"])
def test_sessions_that_are_cut_off_leave_no_process(opened, starts, ending):
    for _ in range(2):
        opened(ending, SESSIONS // 2)

        assert all_gone(opened.marker)

    assert len(pids(starts)) == SESSIONS * PER_SESSION
