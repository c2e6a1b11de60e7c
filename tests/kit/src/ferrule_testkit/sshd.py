"""A real sshd on this machine, with keys of its own, for what logs in by `ssh`."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from ferrule_testkit.surroundings import free_port

_PATIENCE_S: Final = 120
_ATTEMPTS: Final = 5
_CONFIG: Final = """\
Port {port}
ListenAddress 127.0.0.1
HostKey {folder}/host
AuthorizedKeysFile {folder}/user.pub
PidFile none
UsePAM no
StrictModes no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
SetEnv HOME={folder}/home
"""


class SshMachine(NamedTuple):
    """A machine that answers.

    Attributes:
        settings: `host`, `user`, `port`, `identity` and `known_hosts`, as ssh knows them.
        home: The home folder of whoever logs in.
    """

    settings: dict[str, object]
    home: Path


@contextmanager
def ssh_machine() -> Iterator[SshMachine]:
    """Serve until the block ends; skips the test where that cannot be, and says why."""
    sshd = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin")
    if sshd is None or None in map(shutil.which, ("ssh", "ssh-keygen")):
        pytest.skip("needs ssh and sshd, as in `apt install openssh-client openssh-server`")
    with tempfile.TemporaryDirectory(prefix="ferrule-sshd-") as name:
        folder = Path(name)
        (folder / "home").mkdir()
        for key in ("host", "user"):
            words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / key)]
            subprocess.run(words, check=True)
        if os.geteuid() == 0:
            os.makedirs("/run/sshd", exist_ok=True)  # it insists on this one
        server, port = _start(sshd, folder)
        try:
            public = (folder / "host.pub").read_text()
            (folder / "known").write_text(f"[127.0.0.1]:{port} {public}")
            settings: dict[str, object] = {
                "host": "127.0.0.1",
                "user": pwd.getpwuid(os.geteuid()).pw_name,
                "port": port,
                "identity": str(folder / "user"),
                "known_hosts": str(folder / "known"),
            }
            _log_in(settings, folder / "log")
            yield SshMachine(settings, folder / "home")
        finally:
            server.kill()
            server.wait()


def _start(sshd: str, folder: Path) -> tuple[subprocess.Popen[bytes], int]:
    """Start it; a port that somebody else took meanwhile is not insisted on."""
    log = folder / "log"
    for _ in range(_ATTEMPTS):
        port = free_port()
        (folder / "config").write_text(_CONFIG.format(port=port, folder=folder))
        with log.open("wb") as errors:
            server = subprocess.Popen([sshd, "-D", "-e", "-f", folder / "config"], stderr=errors)
        if _listens(server, log):
            return server, port
    pytest.skip(f"sshd does not run here: {log.read_text()[-300:]}")


def _listens(server: subprocess.Popen[bytes], log: Path) -> bool:
    """Wait until it does, or has ended."""
    deadline = time.monotonic() + _PATIENCE_S
    while time.monotonic() < deadline:
        has_ended = server.poll() is not None
        if "Server listening on" in log.read_text() or has_ended:
            return not has_ended
        time.sleep(0.02)
    server.kill()
    server.wait()
    pytest.fail("sshd does not answer")


def _log_in(settings: dict[str, object], log: Path) -> None:
    """Skip where sshd lets this user in by no key: one without a shell, or who is locked."""
    options = ["-F", "/dev/null", "-p", str(settings["port"]), "-i", str(settings["identity"])]
    options += ["-o", "BatchMode=yes", "-o", f"UserKnownHostsFile={settings['known_hosts']}"]
    command = ["ssh", *options, f"{settings['user']}@{settings['host']}", "true"]
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        pytest.skip(f"sshd does not let us in here: {done.stderr}{log.read_text()[-300:]}")
