"""The MCP server: any number of clients on one kernel, and the threads they share."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

import anyio
from mcp.server.lowlevel import Server
from mcp_types import ListToolsResult

from ferrule_mcp_server.calls import ToolCalls
from ferrule_mcp_server.connection import McpConnection
from ferrule_mcp_server.thread_shelf import ThreadShelf
from ferrule_mcp_server.tool_list import tools

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from anyio.abc import TaskGroup
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp.server.context import ServerRequestContext
    from mcp.shared.message import SessionMessage
    from mcp_types import CallToolRequestParams, PaginatedRequestParams

    from ferrule_hookspecs.host import ConfigRequest, Kernel
    from ferrule_hookspecs.serving import Peer

NAME: Final = "ferrule-mcp-server"
_INSTRUCTIONS: Final = (
    "A coding agent that works in folders of this machine. Give `codex` a whole task rather than "
    "single steps, keep the `threadId` it returns, and go on with `codex-reply`."
)


class McpServer:
    """Serves one kernel; satisfies the contract's `Server`.

    Attributes:
        protocol: What speaks the protocol, for transports that have sessions of their own.
    """

    def __init__(
        self, kernel: Kernel, request: ConfigRequest, version: str, group: TaskGroup
    ) -> None:
        self._group = group
        self.shelf = ThreadShelf(kernel, request)
        calls = ToolCalls(self.shelf, group)

        async def list_tools(
            context: ServerRequestContext[Any, Any], params: PaginatedRequestParams | None
        ) -> ListToolsResult:
            return ListToolsResult(tools=tools())

        async def call_tool(
            context: ServerRequestContext[Any, Any], params: CallToolRequestParams
        ) -> Any:  # noqa: ANN401 -- a result, or what is asked before there is one
            return await calls.call(context, params)

        self.protocol: Server[Any] = Server(
            NAME,
            version=version,
            title="Ferrule",
            instructions=_INSTRUCTIONS,
            on_list_tools=list_tools,
            on_call_tool=call_tool,
        )

    def connect(self, peer: Peer) -> McpConnection:
        """Take a new client."""
        connection = McpConnection(self)
        self._group.start_soon(connection.run)
        return connection

    async def speak(
        self,
        read: MemoryObjectReceiveStream[SessionMessage | Exception],
        write: MemoryObjectSendStream[SessionMessage],
    ) -> None:
        """Speak the protocol over a pair of streams until the client is gone."""
        await self.protocol.run(read, write, self.protocol.create_initialization_options())


@asynccontextmanager
async def serving(kernel: Kernel, request: ConfigRequest, version: str) -> AsyncIterator[McpServer]:
    """Serve until the block is left; threads are closed then, also when it is cancelled."""
    async with anyio.create_task_group() as group:
        server = McpServer(kernel, request, version, group)
        try:
            yield server
        finally:
            group.cancel_scope.cancel()
            await server.shelf.aclose()
