"""The servers of one open thread, and the tools they give it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, cast

import anyio

from ferrule_hookspecs.errors import SessionRefusedError
from ferrule_mcp.approvals import Approvals
from ferrule_mcp.pool import pool_of
from ferrule_mcp.resources import resource_tools
from ferrule_mcp.server_settings import read_servers
from ferrule_mcp.tool import make_tool, namespace_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from typing import Literal

    from ferrule_hookspecs.plugins import PluginContext
    from ferrule_hookspecs.tools import Tool
    from ferrule_mcp.server import Server

_GRACE_MS: Final = 5000
_ABSENT_S: Final = 24 * 3600.0
_MEMORY_NAME: Final = "late"


class ThreadServers:
    """Holds the servers of one thread from its opening to its end."""

    def __init__(self, context: PluginContext) -> None:
        self._context = context
        settings, faults = read_servers(context.table("mcp_servers"), context.cwd)
        for fault in faults.values():
            context.warn(f"{fault}; the server is not used")
        self._settings = [each for each in settings if each.is_enabled]
        self.approvals = Approvals(context)
        self.servers: dict[str, Server] = {}
        self._has_begun = False
        self._late: list[Server] = []
        self._unheard: list[Server] = []
        self._offered: set[tuple[str, str]] = set()

    async def open(self) -> list[Tool]:
        """Take the servers; returns the tools that are known in time.

        A server whose tools are remembered is not waited for, and not even started before it is
        called. Others are waited for a moment, those that are required until they are there.

        Raises:
            SessionRefusedError: One that is required cannot be used.
        """
        context = self._context
        if context.runtime is None:
            return []
        pool = pool_of(context.runtime)
        for each in self._settings:
            held = pool.hold(each, context.environ, context.home, self)
            self.servers[each.name] = held
        required = [server for server in self.servers.values() if server.settings.is_required]
        unknown = [
            server
            for server in self.servers.values()
            if server.manifest is None and server not in required
        ]
        self._late = [server for server in unknown if _was_late(context, server)]
        waited_for = [server for server in unknown if server not in self._late]
        for server in (*required, *waited_for):
            server.start()
        await self._await_required(required)
        await self._await_unknown(waited_for)
        return self._tools()

    async def _await_required(self, servers: Sequence[Server]) -> None:
        missing: list[str] = []
        for server in servers:
            connection = server.start()
            await connection.opened.wait()
            if not connection.is_open:
                missing.append(f"{server.settings.name!r}: {connection.failure}")
        if missing:
            await self.close()
            raise SessionRefusedError(
                f"required MCP servers cannot be used: {'; '.join(missing)}; mend it, or set "
                "`required = false` in its table of `mcp_servers`"
            )

    async def _await_unknown(self, servers: Sequence[Server]) -> None:
        """Wait a moment for servers whose tools nobody knows yet, for each only once a day."""
        grace = self._context.config.get("mcp_optional_startup_grace_ms", _GRACE_MS)
        seconds = cast("float", grace) / 1000
        with anyio.move_on_after(seconds):
            for server in servers:
                await server.start().opened.wait()
        late = [server for server in servers if server.state == "starting"]
        for server in late:
            _note_late(self._context, server)
            self._context.warn(
                f"the MCP server {server.settings.name!r} is still starting; its tools are "
                "offered as soon as it is there "
                f"(`ferrule mcp test {server.settings.name}` waits for it)"
            )

    def _tools(self) -> list[Tool]:
        tools: list[Tool] = []
        for server in self.servers.values():
            tools += self._fresh(server)
            if server.settings.may_sample:
                from ferrule_mcp.sampling import sampling_tool

                tools.append(sampling_tool(self._context, server.settings.name))
        if self.servers:
            tools += resource_tools(self._context, self.servers, self._start_late)
        return tools

    def _start_late(self) -> None:
        """Start servers that were waited for in vain before, when nothing waits for anything."""
        for server in self._late:
            server.start()

    def _fresh(self, server: Server) -> list[Tool]:
        """Make the tools of a server that this thread was not offered yet."""
        name, manifest = server.settings.name, server.manifest
        made: list[Tool] = []
        namespace = namespace_of(server)
        for offered in () if manifest is None else manifest.tools:
            tool = str(offered["name"])
            if (name, tool) not in self._offered and server.settings.offers(tool):
                self._offered.add((name, tool))
                kin = (server, namespace, self.approvals)
                made.append(make_tool(self._context, offered, kin))
        return made

    def begin(self) -> None:
        """Offer what came while the session was built; what comes later is offered at once."""
        self._has_begun = True
        for server in self._unheard:
            self.offered(server)

    def offered(self, server: Server) -> None:
        """Offer the tools that a server has beyond those that are offered already.

        None is taken away or told anew, so that the prompt stays cached; a call of one that is
        gone or has changed is refused before it reaches the server.
        """
        services = self._context.services
        if not self._has_begun:
            self._unheard.append(server)
        elif services is not None and (tools := self._fresh(server)):
            services.offer_tools(tools)

    def renew(self) -> None:
        """Let go of servers whose program has changed since they were started."""
        for server in self.servers.values():
            if server.renew():
                self.warned(
                    f"the program of the MCP server {server.settings.name!r} has changed; it is "
                    "started anew from this turn on"
                )
                server.start()

    async def close(self) -> None:
        """Give the servers back."""
        servers, self.servers = list(self.servers.values()), {}
        if self._context.runtime is not None:
            await pool_of(self._context.runtime).release(servers, self)

    def told(
        self,
        server: str,
        status: Literal["starting", "ready", "failed", "cancelled"],
        error: str | None,
    ) -> None:
        """Tell the thread's clients how the start of a server goes."""
        self._context.emit(
            {
                "method": "mcpServer/startupStatus/updated",
                "params": {
                    "threadId": self._context.thread_id,
                    "name": server,
                    "status": status,
                    "error": error,
                    "failureReason": None,
                },
            }
        )
        if status == "failed":
            self.warned(f"the MCP server {server!r} is not there: {error}")

    def warned(self, message: str) -> None:
        """Tell whoever uses the session."""
        self._context.warn(message)


def _was_late(context: PluginContext, server: Server) -> bool:
    """Whether the server was waited for in vain not long ago; it is not waited for again."""
    try:
        noted = _late_file(context, server).stat().st_mtime
    except OSError:
        return False
    return time.time() - noted < _ABSENT_S


def _note_late(context: PluginContext, server: Server) -> None:
    file = _late_file(context, server)
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file.touch()
    except OSError:
        return


def _late_file(context: PluginContext, server: Server) -> Path:
    key = server.settings.manifest_key
    return context.home / "cache" / "mcp" / f"{key}.{_MEMORY_NAME}"
