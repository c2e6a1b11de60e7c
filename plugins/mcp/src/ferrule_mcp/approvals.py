"""Tools that a person approved for good, kept in the user's configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from ferrule_hookspecs.host import ConfigEdit
from ferrule_mcp.pins import Pins, fingerprint

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ferrule_hookspecs.plugins import PluginContext
    from ferrule_mcp.server_settings import ServerSettings

Standing = Literal["none", "approved", "changed"]


class Approvals:
    """What was approved of the tools of one thread's servers, and what they were then."""

    def __init__(self, context: PluginContext) -> None:
        self._context = context
        self._pins = Pins(context.home)
        self._here: set[tuple[str, str]] = set()
        self._last: dict[tuple[str, str], str] = {}

    def standing(self, settings: ServerSettings, offered: Mapping[str, object]) -> Standing:
        """Tell whether a tool is approved as it is now, or as it was once, or not at all.

        A server that is approved as a whole may change as it likes.
        """
        tool = str(offered["name"])
        key, now = (settings.name, tool), fingerprint(offered)
        self._last[key] = now
        is_named = key in self._here or settings.modes.get(tool) == "approve"
        if not is_named:
            return "approved" if settings.mode(tool) == "approve" else "none"
        pinned = self._pins.get(*key)
        return "approved" if pinned in (None, now) else "changed"

    def pin(self, settings: ServerSettings, offered: Mapping[str, object]) -> None:
        """Remember what a tool is that the configuration approves, at its first call."""
        tool = str(offered["name"])
        if settings.modes.get(tool) == "approve" and self._pins.get(settings.name, tool) is None:
            self._pins.set(settings.name, tool, fingerprint(offered))

    async def approve(self, server: str, tool: str) -> None:
        """Write that a tool needs no approval any more, as long as it stays what it is.

        Raises:
            ConfigError: The file cannot be changed.
        """
        from anyio import to_thread

        self._here.add((server, tool))
        shown = self._last.get((server, tool))
        if shown is not None:
            self._pins.set(server, tool, shown)
        if self._context.runtime is None:
            return
        key = f"mcp_servers.{quoted(server)}.tools.{quoted(tool)}.approval_mode"
        edits = [ConfigEdit(key, "approve")]
        await to_thread.run_sync(self._context.runtime.write_config, edits)


def quoted(name: str) -> str:
    """Write a name as one part of a dotted key."""
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
