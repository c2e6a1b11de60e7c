"""Speaks with a server of the network: streamable HTTP."""

from __future__ import annotations

import re
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from ferrule_hookspecs.errors import ConfigError
from ferrule_mcp.server_environment import http_headers

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    from httpx2 import Auth, Response
    from mcp.client._transport import TransportStreams

    from ferrule_mcp.server_settings import ServerSettings

_CONNECT_S: Final = 30.0
_NOT_FOUND: Final = 404
_UNAUTHORISED: Final = (401, 403)
_SESSION: Final = "mcp-session-id"
_INSUFFICIENT: Final = "insufficient_scope"
_SCOPES: Final = re.compile(r'(?i)\bscope="([^"]*)"')


class HttpFaults:
    """What the answers of a server said beside the protocol.

    Attributes:
        has_lost_session: It does not know our session any more, as after a restart.
        needs_sign_in: It wants to know who we are.
        wanted_scopes: What it wants to be granted beyond what it was.
    """

    def __init__(self) -> None:
        self.has_lost_session = False
        self.needs_sign_in = False
        self.wanted_scopes: frozenset[str] = frozenset()

    async def look(self, response: Response) -> None:
        """Look at the status of an answer."""
        if response.status_code == _NOT_FOUND and _SESSION in response.request.headers:
            self.has_lost_session = True
        if response.status_code in _UNAUTHORISED:
            self.needs_sign_in = True
            challenge = response.headers.get("www-authenticate", "")
            if _INSUFFICIENT in challenge and (scopes := _SCOPES.search(challenge)):
                self.wanted_scopes = frozenset(scopes[1].split())


@asynccontextmanager
async def http_transport(
    settings: ServerSettings,
    environ: Mapping[str, str],
    faults: HttpFaults,
    auth: Auth | None,
) -> AsyncGenerator[TransportStreams]:
    """Open it; nothing is sent before the first message.

    Raises:
        ConfigError: The URL cannot be used, or a variable for a header is not set.
    """
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    if urlsplit(settings.url).scheme not in ("http", "https"):
        raise ConfigError(f"mcp_servers.{settings.name}.url is no http or https URL")
    headers = http_headers(settings, environ)
    timeout = httpx2.Timeout(_CONNECT_S, read=settings.call_s)
    hooks = {"response": [faults.look]}
    async with (
        httpx2.AsyncClient(
            headers=headers, timeout=timeout, event_hooks=hooks, auth=auth
        ) as client,
        streamable_http_client(settings.url, http_client=client) as streams,
    ):
        yield streams
