"""Tries a server: starts it, asks what it offers, ends it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

from ferrule_mcp.pool import pool_of
from ferrule_mcp.server_settings import read_server

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ferrule_hookspecs.host import Host
    from ferrule_hookspecs.plugins import Runtime


class Trial(NamedTuple):
    """What a server said.

    Attributes:
        server: What it calls itself.
        seconds: How long it took to answer.
        tools: The tools that would be offered.
    """

    server: str
    seconds: float
    tools: Sequence[str]


async def try_server(runtime: Runtime, host: Host, name: str, table: object, cwd: str) -> Trial:
    """Start a server and end it again.

    Raises:
        FerruleError: It cannot be used; says why.
    """
    settings = read_server(name, table, cwd)
    pool, visitor = pool_of(runtime), _Visitor()
    server = pool.hold(settings, host.environ, host.home, visitor)
    started = time.monotonic()
    try:
        connection = await server.opened()
        seconds = time.monotonic() - started
        manifest = connection.manifest
    finally:
        await pool.release([server], visitor)
    said = manifest.server_info
    tools = [str(tool["name"]) for tool in manifest.tools]
    return Trial(
        f"{said.get('name', 'it')} {said.get('version', '')}".strip(),
        seconds,
        [tool for tool in tools if settings.offers(tool)],
    )


class _Visitor:
    """Uses a server for a moment and is told nothing."""

    def told(self, server: str, status: str, error: str | None) -> None:
        """Hear nothing: what fails is raised."""

    def warned(self, message: str) -> None:
        """Hear nothing."""
