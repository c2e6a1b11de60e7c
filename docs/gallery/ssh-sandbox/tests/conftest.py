"""A real sshd on this machine, with keys of its own."""

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from ferrule_testkit.surroundings import free_port

PATIENCE_S = 120
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
    if sshd is None or shutil.which("ssh-keygen") is None:
        pytest.skip("needs ssh and sshd, as in `apt install openssh-client openssh-server`")
    folder = Path(tempfile.mkdtemp(prefix="gallery-sshd-"))
    (folder / "home").mkdir()
    for name in ("host", "user"):
        key = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)]
        subprocess.run(key, check=True)
    port = free_port()
    (folder / "config").write_text(SSHD.format(port=port, folder=folder))
    (folder / "known").write_text(f"[127.0.0.1]:{port} {(folder / 'host.pub').read_text()}")
    if os.geteuid() == 0:
        os.makedirs("/run/sshd", exist_ok=True)  # it insists on this one
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen([sshd, "-D", "-e", "-f", folder / "config"], stderr=log)
        try:
            await_port(port, server, folder / "log")
            yield {
                "host": "127.0.0.1",
                "user": pwd.getpwuid(os.geteuid()).pw_name,
                "port": port,
                "identity": str(folder / "user"),
                "known_hosts": str(folder / "known"),
                "home": str(folder / "home"),
            }
        finally:
            server.kill()
            server.wait()
            shutil.rmtree(folder)


def await_port(port, server, log):
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        if server.poll() is not None:
            pytest.skip(f"sshd does not run here: {log.read_text()[-300:]}")
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.02)
        else:
            return
    pytest.fail("sshd does not answer")
