"""The backend does what the contract asks of every sandbox."""

from ferrule_sandbox_bubblewrap.backend import BubblewrapBackend
from ferrule_testkit import SandboxConformance


class TestBubblewrapBackend(SandboxConformance):
    def make(self, context):
        return BubblewrapBackend(context)
