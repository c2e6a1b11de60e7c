"""The door: a socket in the command's own empty network, served outside; as root and as a user."""

import os
import signal
import socket
import subprocess
import sys
import threading
from contextlib import suppress

import pytest

from ferrule_hookspecs.errors import SandboxUnavailableError
from ferrule_hookspecs.sandbox import Command, Door
from ferrule_sandbox_bubblewrap import doors
from ferrule_testkit.confinement import complete

PYTHON = "/usr/bin/python3"
PORT = 18_765

FETCH = """
import socket, sys
link = socket.create_connection(("127.0.0.1", int(sys.argv[1])), 60)
link.sendall(sys.argv[2].encode())
print(link.recv(100).decode())
"""
LOOK = """
import socket
print(open("/proc/net/tcp").read().count("0100007F:"), [n for _, n in socket.if_nameindex()])
for kind, where in ((socket.AF_INET, ("10.255.255.1", 80)), (socket.AF_INET, ("192.0.2.1", 53))):
    for type_ in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        try:
            socket.socket(kind, type_).connect(where)
            print("connected")
        except OSError as error:
            print(error.strerror)
try:
    socket.getaddrinfo("example.com", 80)
    print("resolved")
except OSError:
    print("unknown")
"""


class Keeper:
    """Serves what it is handed: greets each connection by the door's name."""

    def __init__(self, name="door"):
        self.name = name
        self.heard = []
        self.listeners = []

    def serve(self, descriptor):
        link = socket.socket(fileno=descriptor)
        self.listeners.append(link)
        threading.Thread(target=self._accept, args=(link,), daemon=True).start()

    def _accept(self, link):
        while True:
            try:
                connection, _ = link.accept()
            except OSError:
                return
            with connection:
                self.heard.append(connection.recv(100).decode())
                connection.sendall(f"served by {self.name}".encode())

    def close(self):
        for link in self.listeners:
            with suppress(OSError):  # its network is gone, and it with that
                link.shutdown(socket.SHUT_RDWR)
            link.close()


@pytest.fixture
def keeper():
    made = Keeper()
    yield made
    made.close()


@pytest.fixture
def command(place):
    """Builds a command in Python, with a door."""

    def command(code, *arguments, door=None):
        argv = (PYTHON, "-I", "-S", "-c", code, *map(str, arguments))
        return Command(argv, str(place / "workspace"), {"PATH": "/usr/bin:/bin"}, door=door)

    return command


def test_a_command_reaches_its_door(python, keeper):
    ended = python(FETCH, str(PORT), "me", door=Door(PORT, keeper.serve))

    assert ended.stdout == "served by door\n"


def test_there_is_nothing_else_in_its_network(python, keeper):
    ended = python(LOOK, door=Door(PORT, keeper.serve))

    assert ended.stdout.splitlines() == [
        "1 ['lo']",
        *["Network is unreachable"] * 4,
        "unknown",
    ]


def test_a_service_of_the_machine_at_the_port_of_the_door_is_out_of_reach(
    backend, policy, command, keeper
):
    with socket.create_server(("127.0.0.1", 0)) as outside:
        port = outside.getsockname()[1]
        given = command(FETCH, port, "me", door=Door(port, keeper.serve))
        ended = complete(backend, policy(), given)

    assert ended.stdout == "served by door\n"


def test_two_commands_at_once_have_doors_of_their_own(backend, policy, command):
    keepers = [Keeper(f"door {number}") for number in range(4)]
    answers = {}

    def run(keeper):
        given = command(FETCH, PORT, keeper.name, door=Door(PORT, keeper.serve))
        answers[keeper.name] = complete(backend, policy(), given).stdout.strip()

    threads = [threading.Thread(target=run, args=(keeper,)) for keeper in keepers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for keeper in keepers:
        keeper.close()

    assert answers == {keeper.name: f"served by {keeper.name}" for keeper in keepers}
    assert [keeper.heard for keeper in keepers] == [[keeper.name] for keeper in keepers]


def test_without_a_door_a_command_has_no_network_at_all(backend, policy, command):
    ended = complete(backend, policy(), command(LOOK))

    assert ended.stdout.startswith("0 ")


def test_a_command_whose_door_cannot_be_made_does_not_start(
    backend, place, policy, command, keeper, monkeypatch
):
    monkeypatch.setattr(doors, "_PROGRAM", "/nowhere.py")
    mark = place / "workspace" / "mark"
    given = command(f"open({str(mark)!r}, 'w')", door=Door(PORT, keeper.serve))

    with pytest.raises(SandboxUnavailableError, match="the command did not run"):
        complete(backend, policy(), given)

    assert not mark.exists()
    assert keeper.listeners == []


def test_a_program_that_makes_doors_is_replaced_when_somebody_ended_it(
    backend, policy, command, keeper
):
    given = command(FETCH, PORT, "me", door=Door(PORT, keeper.serve))
    complete(backend, policy(), given)
    program, _ = backend._doors._program
    program.kill()
    program.wait()

    assert complete(backend, policy(), given).stdout == "served by door\n"


def test_it_ends_with_the_session_however_that_ends():
    script = (
        "import os, sys, time\n"
        "from ferrule_sandbox_bubblewrap import doors\n"
        "process, link = doors._start()\n"
        "print(process.pid, flush=True)\n"
        "time.sleep(1000)\n"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as session:
        pid = int(session.stdout.readline())
        watch = os.pidfd_open(pid)
        session.send_signal(signal.SIGKILL)

    assert signal_of_end(watch)


def signal_of_end(watch):
    import select

    try:
        return bool(select.select([watch], [], [], 120)[0])
    finally:
        os.close(watch)
