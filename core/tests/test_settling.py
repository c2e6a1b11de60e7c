"""A command whose sandbox could not be set up, for what changed meanwhile, is prepared anew."""

import anyio
import pytest

from ferrule.attempt import BoundSandbox
from ferrule.processes import ProcessOwner
from ferrule.settling import STARTS
from ferrule_hookspecs.errors import SandboxUnavailableError
from ferrule_hookspecs.sandbox import Command, Launch, ResolvedPolicy

COMMAND = Command(("unused",), "/", {})


class Backend:
    """Its sandbox stands from some start on."""

    name = "settling"

    def __init__(self, failures):
        self.failures = failures
        self.cleaned = 0

    def prepare(self, policy, command):
        stands = self.failures == 0
        self.failures -= 1
        words = "echo ran" if stands else "echo no sandbox; exit 1"
        return Launch(
            ("/bin/sh", "-c", words), {}, "/", cleanup=self._clean, settled=lambda: stands
        )

    def files(self, policy):
        return None

    def _clean(self):
        self.cleaned += 1


def printed(backend):
    async def run():
        owner = ProcessOwner()
        try:
            sandbox = BoundSandbox(backend, ResolvedPolicy("read-only", "/"), owner)
            process = await sandbox.spawn(COMMAND)
            text = b""
            while piece := await process.read():
                text += piece
            await process.wait()
            return text
        finally:
            await owner.aclose()

    return anyio.run(run)


@pytest.mark.parametrize("failures", [0, 1, 3])
def test_it_is_prepared_until_its_sandbox_stands(failures):
    backend = Backend(failures)

    assert printed(backend) == b"ran\n"
    assert backend.cleaned == failures + 1


def test_after_so_many_starts_it_is_given_up_with_the_reason():
    backend = Backend(STARTS)

    with pytest.raises(SandboxUnavailableError, match="keeps changing; try again"):
        printed(backend)
    assert backend.cleaned == STARTS
