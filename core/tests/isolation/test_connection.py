"""Whoever waits for a process is told of its end, whatever goes wrong then."""

from pathlib import Path

import anyio
import pytest

from ferrule.isolation.connection import Connection, Request
from ferrule.isolation.desk import Desk
from ferrule_hookspecs.errors import PluginError, SandboxUnavailableError
from ferrule_hookspecs.plugins import PluginContext


class BrokenProcess:
    """A process whose sandbox turns out to be broken once it has ended."""

    pid = 1

    def __init__(self):
        self.asked = anyio.Event()

    async def read(self):
        await self.asked.wait()
        return b""

    async def read_stderr(self):
        await anyio.sleep_forever()

    async def write(self, data):
        self.asked.set()

    async def wait(self):
        raise SandboxUnavailableError("the sandbox was replaced meanwhile")

    def kill(self):
        """It has ended already."""


def test_a_call_fails_where_the_sandbox_is_found_broken_at_the_end():
    async def main():
        connection = Connection(BrokenProcess(), Desk(PluginContext(Path("/"), {}, "/")))
        async with anyio.create_task_group() as group:
            group.start_soon(connection.serve)
            with anyio.fail_after(120):
                await connection.request(Request("tool", "run", {}))

    with pytest.raises(BaseExceptionGroup) as caught:
        anyio.run(main)

    (error,) = caught.value.exceptions
    assert isinstance(error, PluginError)
    assert str(error) == "its process was ended: the sandbox was replaced meanwhile"
