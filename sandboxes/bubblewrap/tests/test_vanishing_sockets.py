"""Sockets of services come and go, also while a sandbox that covers them is set up."""

import os
import socket
import subprocess
import threading

import pytest

from ferrule_hookspecs.sandbox import Command


@pytest.fixture
def service(place):
    """Opens and removes a service's socket of a name."""
    opened = []

    class Service:
        def __init__(self, folder, name):
            self.path = place / folder / name

        def come(self):
            opened.append(server := socket.socket(socket.AF_UNIX))
            server.bind(str(self.path))
            server.listen()

        def go(self):
            self.path.unlink()
            opened.pop().close()

    yield Service
    for server in opened:
        server.close()


def finished(launch):
    """How a launch ends: what it prints, and whether its sandbox stood."""
    with subprocess.Popen(
        launch.argv,
        env=dict(launch.env),
        cwd=launch.cwd,
        pass_fds=launch.pass_fds,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as child:
        launch.started()
        printed = child.stdout.read()
        stood = launch.settled is None or launch.settled()
    launch.cleanup()
    return printed, stood


@pytest.fixture
def prepared(backend, policy, place):
    def prepared():
        return backend.prepare(
            policy(), Command(("/bin/echo", "ran"), str(place / "workspace"), {})
        )

    return prepared


def test_a_socket_that_vanishes_asks_for_another_start(prepared, service):
    gone = service("outside", "service")
    gone.come()
    launch = prepared()
    gone.go()

    assert finished(launch) == (b"", False)
    assert finished(prepared()) == (b"ran\n", True)


def test_a_socket_that_goes_later_does_not(prepared, service):
    lasting = service("outside", "service")
    lasting.come()

    assert finished(prepared()) == (b"ran\n", True)
    lasting.go()


def test_another_failure_does_not_ask_for_another_start(backend, policy, place, service):
    service("outside", "service").come()
    (place / "workspace" / "kept").mkdir()
    launch = backend.prepare(
        policy(read_only=["kept"]), Command(("/bin/echo", "ran"), str(place / "workspace"), {})
    )
    (place / "workspace" / "kept").rmdir()
    (place / "workspace").rename(place / "moved")

    assert finished(launch) == (b"", True)
    (place / "moved").rename(place / "workspace")


def test_nothing_stays_where_a_socket_vanished_that_could_be_written(prepared, service, place):
    gone = service("workspace", "service")
    gone.come()
    launch = prepared()
    gone.go()

    assert finished(launch) == (b"ran\n", True)
    assert not os.path.lexists(gone.path)
    gone.come()


def test_what_a_service_leaves_of_its_own_stays(prepared, service, place):
    gone = service("workspace", "service")
    gone.come()
    launch = prepared()
    gone.go()
    gone.path.touch()

    assert finished(launch) == (b"ran\n", True)
    assert gone.path.exists()
    gone.path.unlink()


def test_commands_work_while_sockets_come_and_go(prepared, service):
    """Each start may meet a socket that vanishes; a few of them never fail all."""
    over = threading.Event()

    def churn():
        number = 0
        while not over.is_set():
            passing = service("outside", f"passing-{number}")
            passing.come()
            passing.go()
            number += 1

    service("outside", "lasting").come()
    thread = threading.Thread(target=churn)
    thread.start()
    try:
        for _ in range(20):
            ends = (finished(prepared()) for _ in range(100))
            assert next(end for end in ends if end[1]) == (b"ran\n", True)
    finally:
        over.set()
        thread.join()
