"""The hooks of the contract: tools of MCP servers. Loads nothing where no server is configured."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ferrule_hookspecs import hookimpl
from ferrule_hookspecs.markers import patient

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ferrule_hookspecs.plugins import PluginContext
    from ferrule_hookspecs.review import Amendment
    from ferrule_hookspecs.serving import RpcMethod
    from ferrule_hookspecs.tools import Tool
    from ferrule_mcp.thread_servers import ThreadServers

# Servers that are required have deadlines of their own.
_PATIENCE_S: Final = 3600.0
_RELOAD: Final = "reload"
_threads: dict[str, ThreadServers] = {}
"""The servers of every open thread that has any."""


@hookimpl
@patient(_PATIENCE_S)
async def ferrule_tools(context: PluginContext) -> Sequence[Tool] | None:
    """Offer the tools of the configured servers; in an open session, as they are by now."""
    before = _threads.get(context.thread_id)
    if not context.table("mcp_servers"):
        if before is not None:
            await _threads.pop(context.thread_id).close()
        return None
    from ferrule_mcp.thread_servers import ThreadServers

    servers = ThreadServers(context)
    if before is None:
        _threads[context.thread_id] = servers
        return await servers.open()  # given up meanwhile, they go with the session's end
    tools = await servers.open()
    _threads[context.thread_id] = servers
    await before.close()  # after the others have taken theirs, so that what both have goes on
    return tools


@hookimpl
async def ferrule_session_start(context: PluginContext, source: str) -> None:
    """From now on, tools that come later are offered when they are there."""
    servers = _threads.get(context.thread_id)
    if servers is not None:
        servers.begin()


@hookimpl
async def ferrule_context_updates(context: PluginContext, told: Mapping[str, str]) -> None:
    """Before a turn, let go of servers whose program has changed; the next call starts the new one.

    The model is told nothing: what a server offers by then is compared with what it was told of it.
    """
    servers = _threads.get(context.thread_id)
    if servers is not None:
        servers.renew()


@hookimpl
async def ferrule_session_end(context: PluginContext, reason: str) -> None:
    """Give the servers back; those that nobody else uses end."""
    if reason == _RELOAD:  # the session goes on, and asks for its tools again
        return
    servers = _threads.pop(context.thread_id, None)
    if servers is not None:
        await servers.close()


@hookimpl
async def ferrule_amendment(amendment: Amendment, context: PluginContext) -> None:
    """Remember that a tool needs no approval any more."""
    if amendment.kind == "mcp_tool":
        servers = _threads.get(context.thread_id)
        if servers is not None:
            server, tool = amendment.value
            await servers.approvals.approve(server, tool)


@hookimpl
async def ferrule_rpc_methods(context: PluginContext) -> Sequence[RpcMethod]:
    """Add the methods about servers to the app-server."""
    from ferrule_mcp.rpc_methods import methods

    return methods(context, _threads)
