"""The backend does what the contract asks of every sandbox; both ends are this machine."""

import pytest

from ferrule_sandbox_ssh.backend import SshBackend
from ferrule_testkit import SandboxConformance

pytestmark = pytest.mark.slow


class TestSshBackend(SandboxConformance):
    @pytest.fixture
    def context(self, bare_context, far_machine, workspace):
        table = {**far_machine, "workspace": str(workspace)}
        return bare_context._replace(config={"sandboxes": {"ssh": table}})

    def make(self, context):
        return SshBackend(context)
