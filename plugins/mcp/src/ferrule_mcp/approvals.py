"""Tools that a person approved for good, kept in the user's configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_hookspecs.host import ConfigEdit

if TYPE_CHECKING:
    from ferrule_hookspecs.plugins import PluginContext


async def approve_for_good(context: PluginContext, server: str, tool: str) -> None:
    """Write that a tool needs no approval any more.

    Raises:
        ConfigError: The file cannot be changed.
    """
    from anyio import to_thread

    if context.runtime is None:
        return
    key = f"mcp_servers.{quoted(server)}.tools.{quoted(tool)}.approval_mode"
    await to_thread.run_sync(context.runtime.write_config, [ConfigEdit(key, "approve")])


def quoted(name: str) -> str:
    """Write a name as one part of a dotted key."""
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
