"""Opens many sessions in one kernel, and ends as it is told.

    many_sessions.py HOME FOLDER ENDING SESSIONS ROUNDS

Every session has a folder of its own, and so servers of its own; all of them are started. What is
printed is one JSON line a round: the open descriptors once its sessions are closed, or while they
are open where something else ends them.
"""

import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import anyio

from ferrule.host import LocalHost
from ferrule_hookspecs.errors import FerruleError
from ferrule_hookspecs.host import ConfigRequest, ThreadOptions
from ferrule_hookspecs.serving import RpcCall
from ferrule_testkit.processes import survivors


class Sessions:
    """The sessions of one round."""

    def __init__(self, kernel, folder):
        self.kernel, self.folder = kernel, folder
        self.request = ConfigRequest(cwd=str(folder))
        self.config = kernel.config(self.request)
        self.open = []

    async def start(self, count):
        self.methods = {m.name: m.handler for m in await self.kernel.rpc_methods(self.config)}
        for number in range(count):
            cwd = self.folder / str(number)
            cwd.mkdir(exist_ok=True)
            config = self.kernel.config(ConfigRequest(cwd=str(cwd)))
            self.open.append(await self.kernel.threads.start(ThreadOptions(config, str(cwd))))
        await self.each(self.serve)

    async def each(self, function):
        async with anyio.create_task_group() as group:
            for session in self.open:
                group.start_soon(function, session)

    async def serve(self, session):
        """Have all servers of a session running."""
        rows = (await self.ask("mcpServerStatus/list", session))["data"]
        states = [row["runtimeStatus"] for row in rows]
        assert states == ["connected"] * len(rows), rows

    async def crash(self, session):
        async def one(server):
            with anyio.move_on_after(120):
                try:
                    await self.ask("mcpServer/tool/call", session, server=server, tool="crash")
                except FerruleError:
                    return
            raise AssertionError("it did not crash")

        async with anyio.create_task_group() as group:
            for server in self.config.values["mcp_servers"]:
                group.start_soon(one, server)

    async def ask(self, method, session, **params):
        params["threadId"] = session.thread["id"]
        call = RpcCall(
            params, SimpleNamespace(), self.kernel, self.config, lambda *_: None, self.request
        )
        return await self.methods[method](call)

    async def close(self):
        await self.each(lambda session: session.close())


def descriptors():
    return len(os.listdir("/proc/self/fd"))


def tell():
    print(json.dumps(descriptors()), flush=True)


async def settled():
    """Wait until no server of a closed session runs any more."""
    marker = f"HOME={os.environ['HOME']}"
    with anyio.move_on_after(120):
        while any("tiny_server.py" in line for line in survivors(marker).values()):
            await anyio.sleep(0.05)


async def main(kernel):
    folder, ending = Path(sys.argv[2]), sys.argv[3]
    most = None
    for _ in range(int(sys.argv[5])):
        sessions = Sessions(kernel, folder)
        await sessions.start(int(sys.argv[4]))
        if ending == "server crash":
            await sessions.each(sessions.crash)
            await sessions.each(sessions.serve)
        if ending in ("exit", "server crash"):
            await sessions.close()
            if most is None:
                await settled()
                most = descriptors()
            with anyio.move_on_after(120):  # servers that take their time to end
                while descriptors() > most:
                    await anyio.sleep(0.05)
            tell()
            continue
        tell()
        if ending == "kernel crash":
            os.abort()
        await anyio.sleep_forever()


LocalHost(Path(sys.argv[1]), dict(os.environ)).run(main)
