"""The backend does what the contract asks of every sandbox."""

from ferrule_sandbox_none.backend import NoneBackend
from ferrule_testkit import SandboxConformance


class TestNoneBackend(SandboxConformance):
    def make(self, context):
        return NoneBackend(context)
