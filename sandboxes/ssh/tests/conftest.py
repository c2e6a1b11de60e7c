"""A real sshd on this machine, with keys of its own, and backends that log in to it."""

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from ferrule_hookspecs.plugins import PluginContext
from ferrule_sandbox_ssh.backend import SshBackend
from ferrule_testkit.surroundings import free_port

PATIENCE = 120
_SSHD = """\
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
SetEnv HOME={folder}
"""


@pytest.fixture(scope="session")
def far_machine():
    """Settings of `[sandboxes.ssh]` for a machine that answers."""
    sshd = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin")
    if sshd is None or shutil.which("ssh") is None:
        pytest.skip("needs ssh and sshd, as in `apt install openssh-client openssh-server`")
    folder = Path(tempfile.mkdtemp(prefix="ferrule-sshd-"))
    for name in ("host", "user"):
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name]
        subprocess.run(command, check=True)
    port = free_port()
    (folder / "config").write_text(_SSHD.format(port=port, folder=folder))
    public = (folder / "host.pub").read_text()
    (folder / "known").write_text(f"[127.0.0.1]:{port} {public}")
    if os.geteuid() == 0:
        os.makedirs("/run/sshd", exist_ok=True)  # it insists on this one
    log = (folder / "log").open("wb")
    server = subprocess.Popen([sshd, "-D", "-e", "-f", folder / "config"], stderr=log)
    try:
        await_port(port, server, folder / "log")
        answering = {
            "host": "127.0.0.1",
            "user": pwd.getpwuid(os.geteuid()).pw_name,
            "port": port,
            "identity": str(folder / "user"),
            "known_hosts": str(folder / "known"),
        }
        log_in(answering, folder / "log")
        yield answering
    finally:
        server.kill()
        server.wait()
        log.close()
        shutil.rmtree(folder)


def log_in(machine, log):
    """Skip where sshd lets this user in by no key: one without a shell, or who is locked."""
    options = ["-F", "/dev/null", "-p", str(machine["port"]), "-i", machine["identity"]]
    options += ["-o", "BatchMode=yes", "-o", f"UserKnownHostsFile={machine['known_hosts']}"]
    command = ["ssh", *options, f"{machine['user']}@{machine['host']}", "true"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip(f"sshd does not let us in here: {done.stderr}{log.read_text()[-300:]}")


def await_port(port, server, log):
    deadline = time.monotonic() + PATIENCE
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


@pytest.fixture
def there(tmp_path):
    """The workspace on the other machine."""
    folder = tmp_path / "there"
    folder.mkdir()
    return folder


@pytest.fixture
def new_backend(far_machine, tmp_path, there):
    """Makes backends whose session works in a folder that lies elsewhere over there."""
    made = []
    (tmp_path / "here").mkdir()

    def new_backend(**settings):
        table = {**far_machine, "workspace": str(there), **settings}
        backend = SshBackend(
            PluginContext(
                tmp_path / "home",
                {"sandboxes": {"ssh": table}},
                str(tmp_path / "here"),
                environ=dict(os.environ),
            )
        )
        made.append(backend)
        return backend

    yield new_backend
    for backend in made:
        backend.close()
