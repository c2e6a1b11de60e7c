"""The backend does what the contract asks of every sandbox."""

from ferrule_sandbox_windows.backend import WindowsBackend
from ferrule_testkit import SandboxConformance


class TestWindowsBackend(SandboxConformance):
    def make(self, context):
        return WindowsBackend(context)
