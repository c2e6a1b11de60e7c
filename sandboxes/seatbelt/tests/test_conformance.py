"""The backend does what the contract asks of every sandbox."""

from ferrule_sandbox_seatbelt.backend import SeatbeltBackend
from ferrule_testkit import SandboxConformance


class TestSeatbeltBackend(SandboxConformance):
    def make(self, context):
        return SeatbeltBackend(context)
