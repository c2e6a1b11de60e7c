"""A real sshd on this machine, with keys of its own, and backends that log in to it."""

import os

import pytest

from ferrule_hookspecs.plugins import PluginContext
from ferrule_sandbox_ssh.backend import SshBackend
from ferrule_testkit.sshd import ssh_machine


@pytest.fixture(scope="session")
def far_machine():
    """Settings of `[sandboxes.ssh]` for a machine that answers."""
    with ssh_machine() as machine:
        yield machine.settings


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
