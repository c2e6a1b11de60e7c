"""A real sshd on this machine, with keys of its own."""

import os
import pwd
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from ferrule_testkit.surroundings import free_port

PATIENCE_S = 120
ATTEMPTS = 5
SSHD = """\
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


@pytest.fixture(scope="session")
def machine():
    """The settings for a machine that answers; its home is `machine["home"]`."""
    sshd = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin")
    if sshd is None or None in map(shutil.which, ("ssh", "ssh-keygen")):
        pytest.skip("needs ssh and sshd, as in `apt install openssh-client openssh-server`")
    folder = Path(tempfile.mkdtemp(prefix="gallery-sshd-"))
    (folder / "home").mkdir()
    for name in ("host", "user"):
        key = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)]
        subprocess.run(key, check=True)
    if os.geteuid() == 0:
        os.makedirs("/run/sshd", exist_ok=True)  # it insists on this one
    server, port = start(sshd, folder)
    try:
        (folder / "known").write_text(f"[127.0.0.1]:{port} {(folder / 'host.pub').read_text()}")
        answering = {
            "host": "127.0.0.1",
            "user": pwd.getpwuid(os.geteuid()).pw_name,
            "port": port,
            "identity": str(folder / "user"),
            "known_hosts": str(folder / "known"),
            "home": str(folder / "home"),
        }
        log_in(answering, folder / "log")
        yield answering
    finally:
        server.kill()
        server.wait()
        shutil.rmtree(folder)


def start(sshd, folder):
    """Start it; a port that somebody else took meanwhile is not insisted on."""
    log = folder / "log"
    for _ in range(ATTEMPTS):
        port = free_port()
        (folder / "config").write_text(SSHD.format(port=port, folder=folder))
        with log.open("wb") as errors:
            server = subprocess.Popen([sshd, "-D", "-e", "-f", folder / "config"], stderr=errors)
        if listens(server, log):
            return server, port
    said = log.read_text()[-300:]
    shutil.rmtree(folder)
    pytest.skip(f"sshd does not run here: {said}")


def listens(server, log):
    """Wait until it does, or has ended."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        has_ended = server.poll() is not None
        if "Server listening on" in log.read_text() or has_ended:
            return not has_ended
        time.sleep(0.02)
    server.kill()
    server.wait()
    pytest.fail("sshd does not answer")


def log_in(machine, log):
    """Skip where sshd lets this user in by no key: one without a shell, or who is locked."""
    options = ["-F", "/dev/null", "-p", str(machine["port"]), "-i", machine["identity"]]
    options += ["-o", "BatchMode=yes", "-o", f"UserKnownHostsFile={machine['known_hosts']}"]
    command = ["ssh", *options, f"{machine['user']}@{machine['host']}", "true"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip(f"sshd does not let us in here: {done.stderr}{log.read_text()[-300:]}")
