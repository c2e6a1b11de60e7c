"""All clients, by the secret each was given when it came."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from ferrule_http.client import Client

if TYPE_CHECKING:
    from anyio.abc import TaskGroup

    from ferrule_hookspecs.serving import Peer, Server
    from ferrule_http.settings import Settings


class Clients:
    """Opens and finds clients. Their tasks run in the group of the transport."""

    def __init__(self, server: Server, settings: Settings, group: TaskGroup) -> None:
        self._server = server
        self._settings = settings
        self._group = group
        self._clients: dict[str, Client] = {}

    @property
    def is_full(self) -> bool:
        """Whether there are as many as may be."""
        return len(self._clients) >= self._settings.limits.max_connections

    def open(self, peer: Peer) -> str:
        """Take a new client; returns its secret. Raises what the server raises."""
        client = Client(self._server.connect(peer), self._settings)
        secret = secrets.token_urlsafe(32)
        self._clients[secret] = client
        self._group.start_soon(self._run, secret, client)
        return secret

    def find(self, secret: str) -> Client | None:
        """Return the client with a secret."""
        return self._clients.get(secret)

    async def _run(self, secret: str, client: Client) -> None:
        try:
            await client.run()
        finally:
            del self._clients[secret]
