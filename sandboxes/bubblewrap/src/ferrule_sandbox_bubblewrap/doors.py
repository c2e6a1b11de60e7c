"""Doors: sockets that listen in a command's own network and are served outside of it.

The command's network is empty, so that the socket is the only thing in it that leads out. It is
made while bubblewrap waits to start the command; without it, the command does not start.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ferrule_hookspecs.sandbox import Door

_PROGRAM: Final = os.path.join(os.path.dirname(__file__), "namespace_listener.py")
_SYSTEM_PYTHON: Final = "/usr/bin/python3"
_PATIENCE_S: Final = 20.0
_PAUSE_S: Final = 0.001
_LONGEST: Final = 256


class DoorError(Exception):
    """A door cannot be made; the message says why."""


class Doors:
    """Makes doors; the program that does so is started with the first and kept."""

    def __init__(self) -> None:
        """Start nothing yet."""
        self._lock = threading.Lock()  # one request at a time is with the program
        self._program: tuple[subprocess.Popen[bytes], socket.socket] | None = None

    def open(self, door: Door, pid: int, expected: int | None) -> None:
        """Make a socket in the network of a process and hand it over.

        Args:
            door: Says on which port, and takes it.
            pid: A process of the sandbox, which waits.
            expected: Which network namespace it must be, where bubblewrap has said so.

        Raises:
            DoorError: It cannot be made.
            ProcessLookupError: The process has ended.
        """
        network = _network_of(pid)
        try:
            found = os.fstat(network).st_ino
            if found == os.stat("/proc/self/ns/net").st_ino or expected not in (None, found):
                raise DoorError("the command is not in a network of its own")
            descriptor = self._listening(network, door.port)
        finally:
            os.close(network)
        door.serve(descriptor)

    def close(self) -> None:
        """End the program."""
        with self._lock:
            self._end()

    def _listening(self, network: int, port: int) -> int:
        with self._lock:
            for _ in range(2):  # somebody may have ended the program since it was last needed
                try:
                    return self._ask(network, port)
                except TimeoutError:
                    self._end()
                    raise DoorError("the socket was not made in time") from None
                except (ConnectionError, EOFError):
                    self._end()
            raise DoorError("the program that makes the socket ends at once")

    def _ask(self, network: int, port: int) -> int:
        if self._program is None:
            self._program = _start()
        link = self._program[1]
        socket.send_fds(link, [str(port).encode()], [network])
        answer, descriptors, _, _ = socket.recv_fds(link, _LONGEST, 1)
        if answer == b"ok" and descriptors:
            return descriptors[0]
        if not answer:
            raise EOFError
        raise DoorError(os.fsdecode(answer))

    def _end(self) -> None:
        if self._program is not None:
            process, link = self._program
            self._program = None
            link.close()
            with suppress(subprocess.TimeoutExpired):
                process.wait(_PATIENCE_S)
                return
            process.kill()
            process.wait()


def _start() -> tuple[subprocess.Popen[bytes], socket.socket]:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    python = sys.executable if os.access(sys.executable, os.X_OK) else _SYSTEM_PYTHON
    try:
        ours.settimeout(_PATIENCE_S)
        process = subprocess.Popen(
            [python, "-I", "-S", _PROGRAM],
            stdin=theirs.fileno(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={},
            cwd="/",
            process_group=0,  # out of reach of what ends the session's own group
        )
    except OSError as error:
        ours.close()
        raise DoorError(f"{python} cannot be started: {error.strerror}") from error
    finally:
        theirs.close()
    return process, ours


def _network_of(pid: int) -> int:
    """Open the network namespace of a process, which cannot be looked at while it is set up."""
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        try:
            return os.open(f"/proc/{pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        except PermissionError as error:
            if time.monotonic() > deadline:
                raise DoorError(f"its network cannot be looked at: {error.strerror}") from error
            time.sleep(_PAUSE_S)
        except FileNotFoundError:
            raise ProcessLookupError(pid) from None
