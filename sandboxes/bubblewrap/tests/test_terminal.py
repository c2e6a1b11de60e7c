"""Commands on a terminal: an interrupt reaches the command and leaves the sandbox alone."""

import os
import pty
import signal
import subprocess
from contextlib import suppress

import pytest

from ferrule_hookspecs.sandbox import Command

ADOPT = 'exec "$@" <>"$0" >&0 2>&0'


class Terminal:
    """A command whose controlling terminal we hold the other side of."""

    def __init__(self, backend, policy, place, argv):
        env = {"PATH": "/usr/bin:/bin", "TERM": "dumb"}
        command = Command(argv, str(place / "workspace"), env, tty=True)
        self.launch = backend.prepare(policy, command)
        self.ours, theirs = pty.openpty()
        self.child = subprocess.Popen(
            ["/bin/sh", "-c", ADOPT, os.ttyname(theirs), *self.launch.argv],
            env={},
            cwd="/",
            pass_fds=self.launch.pass_fds,
            stdout=theirs,  # so that the terminal is never without a holder
            start_new_session=True,
        )
        os.close(theirs)
        self.launch.started()

    def expect(self, text):
        seen = b""
        while text not in seen:
            try:
                seen += os.read(self.ours, 4096)
            except OSError:
                pytest.fail(f"ended with {self.child.wait()} after {seen!r}")
        return seen

    def type(self, text):
        os.write(self.ours, text)

    def end(self):
        with suppress(OSError):  # nobody holds the other side any more
            while os.read(self.ours, 4096):
                pass
        code = self.child.wait()
        self.launch.cleanup()
        os.close(self.ours)
        return code


@pytest.fixture
def terminal(backend, policy, place):
    return lambda *argv: Terminal(backend, policy(), place, argv)


LOOP = """
trap 'echo caught; exit 6' INT TERM
echo ready
while :; do sleep 0.05; done
"""


def test_an_interrupt_is_heard_by_the_command(terminal):
    shown = terminal("sh", "-c", LOOP)
    shown.expect(b"ready")
    shown.type(b"\x03")
    shown.expect(b"caught")
    assert shown.end() == 6


def test_a_forwarded_signal_is_heard_by_the_command(terminal):
    shown = terminal("sh", "-c", LOOP)
    shown.expect(b"ready")
    assert shown.launch.forward_signal(shown.child.pid, signal.SIGTERM)
    shown.expect(b"caught")
    assert shown.end() == 6


def test_a_shell_on_a_terminal_controls_its_jobs(terminal):
    prompt = b"$ " if os.geteuid() else b"# "
    shown = terminal("bash", "--norc", "-i")
    shown.expect(prompt)
    shown.type(b"sed -u s/x/OUT/\n")
    shown.type(b"x\n")
    shown.expect(b"OUT\r")  # it runs, and has the terminal
    shown.type(b"\x03")
    shown.expect(prompt)
    shown.type(b"echo $((6 * 7))\n")
    assert b"job control" not in shown.expect(b"42")
    shown.type(b"exit 4\n")
    assert shown.end() == 4


def test_keystrokes_cannot_be_put_into_the_terminal(terminal):
    code = "import fcntl; fcntl.ioctl(0, 0x5412, b'Z')"
    shown = terminal("/usr/bin/python3", "-I", "-c", code)
    shown.expect(b"Operation not permitted")
    assert shown.end() == 1
