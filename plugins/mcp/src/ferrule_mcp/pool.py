"""The servers of a kernel: one for every configuration that differs, shared by its users."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary, ref

import anyio

from ferrule_hookspecs.errors import FerruleError
from ferrule_mcp.server import Server

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from ferrule_hookspecs.plugins import Runtime
    from ferrule_mcp.server import Holder
    from ferrule_mcp.server_settings import ServerSettings

_pools: WeakKeyDictionary[Runtime, Pool] = WeakKeyDictionary()


class Pool:
    """Knows who uses which server; one that nobody uses is ended."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = ref(runtime)  # else the pool would keep what it is found by
        self._servers: dict[str, Server] = {}

    def hold(
        self, settings: ServerSettings, environ: Mapping[str, str], home: Path, holder: Holder
    ) -> Server:
        """Return the server of a configuration; it stays until it is released by all."""
        key = f"{home}:{settings.identity(environ)}"
        server = self._servers.get(key)
        runtime = self._runtime()
        if runtime is None:
            raise FerruleError("the kernel has ended")
        if server is None:
            server = self._servers[key] = Server(settings, environ, home, runtime)
        server.holders.add(holder)
        return server

    async def release(self, servers: Iterable[Server], holder: Holder) -> None:
        """Give servers back; those that nobody uses any more are ended."""
        unused: list[Server] = []
        for server in servers:
            server.holders.discard(holder)
            if not server.holders:
                unused.append(server)
        kept = {key: server for key, server in self._servers.items() if server not in unused}
        self._servers = kept
        async with anyio.create_task_group() as group:
            for server in unused:
                group.start_soon(server.stop)


def pool_of(runtime: Runtime) -> Pool:
    """Return the pool of a kernel."""
    pool = _pools.get(runtime)
    if pool is None:
        pool = _pools[runtime] = Pool(runtime)
    return pool
