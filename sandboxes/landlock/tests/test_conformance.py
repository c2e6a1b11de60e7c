"""The backend does what the contract asks of every sandbox."""

from ferrule_sandbox_landlock.backend import LandlockBackend
from ferrule_testkit import SandboxConformance


class TestLandlockBackend(SandboxConformance):
    def make(self, context):
        return LandlockBackend(context)
