"""Tries a server: starts it, asks what it offers, ends it."""

from __future__ import annotations

import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, NamedTuple

from ferrule_mcp.pins import Pins, fingerprint
from ferrule_mcp.pool import pool_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from ferrule_hookspecs.host import Host
    from ferrule_hookspecs.plugins import Runtime
    from ferrule_mcp.server import Server
    from ferrule_mcp.server_settings import ServerSettings


class Trial(NamedTuple):
    """What a server said.

    Attributes:
        server: What it calls itself.
        seconds: How long it took to answer.
        tools: The tools that would be offered.
        accepted: Those that are approved from now on as they are.
    """

    server: str
    seconds: float
    tools: Sequence[str]
    accepted: Sequence[str] = ()


async def try_server(
    runtime: Runtime, host: Host, settings: ServerSettings, *, accepts: bool
) -> Trial:
    """Start a server and end it again; `accepts` takes over how approved tools have changed.

    Raises:
        FerruleError: It cannot be used; says why.
    """
    started = time.monotonic()
    async with lent(runtime, host, settings) as server:
        connection = await server.opened()
        seconds = time.monotonic() - started
        manifest = connection.manifest
    said = manifest.server_info
    tools = {str(tool["name"]): tool for tool in manifest.tools}
    offered = [name for name in tools if settings.offers(name)]
    accepted: list[str] = []
    if accepts:
        pins = Pins(host.home)
        accepted = [name for name in offered if settings.modes.get(name) == "approve"]
        for name in accepted:
            pins.set(settings.name, name, fingerprint(tools[name]))
    title = f"{said.get('name', 'it')} {said.get('version', '')}".strip()
    return Trial(title, seconds, offered, accepted)


@asynccontextmanager
async def lent(runtime: Runtime, host: Host, settings: ServerSettings) -> AsyncGenerator[Server]:
    """Hold a server outside of any session, as long as the block lasts."""
    pool, visitor = pool_of(runtime), _Visitor()
    server = pool.hold(settings, host.environ, host.home, visitor)
    try:
        yield server
    finally:
        await pool.release([server], visitor)


class _Visitor:
    """Uses a server for a moment and is told nothing."""

    def told(self, server: str, status: str, error: str | None) -> None:
        """Hear nothing: what fails is raised."""

    def warned(self, message: str) -> None:
        """Hear nothing."""

    def offered(self, server: Server) -> None:
        """Hear nothing."""
