"""The transport: listens for webhooks, checks who sent them, and posts what there is to say."""

import ipaddress
import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, cast
from urllib.parse import urlsplit

import anyio
from anyio.abc import SocketAttribute, SocketStream
from anyio.streams.memory import MemoryObjectReceiveStream

from ferrule_hookspecs import FerruleError, PluginContext
from ferrule_hookspecs.serving import Endpoint, Peer, Server
from gallery_webhook.signature import Guard, signed

if TYPE_CHECKING:
    from gallery_webhook.desk import Desk

_TIMEOUT_S = 120
_WAITING = 100
Outgoing = tuple[str, Mapping[str, object]]


class WebhookTransport:
    """Serves `webhook://HOST:PORT` to chat programs that share a secret with it."""

    name = "webhook"

    def __init__(self, context: PluginContext) -> None:
        self._warn = context.warn
        self._secret = str(context.settings.get("secret") or "")
        self._hosts = cast("Sequence[str]", context.settings.get("response_hosts") or ())

    async def serve(self, server: Server, endpoint: Endpoint, ready: Callable[[str], None]) -> None:
        """Serve until cancelled."""
        from gallery_webhook.desk import Desk
        from gallery_webhook.door import Door
        from gallery_webhook.request import attend

        host, port = self._place(endpoint.url)
        listener = await anyio.create_tcp_listener(local_host=host, local_port=port)
        send, waiting = anyio.create_memory_object_stream[Outgoing](_WAITING)
        connection = server.connect(Peer(self.name))
        desk = Desk(connection, lambda url, message: send.send((url, message)))
        door = Door(desk, Guard(self._secret), self._hosts)

        async def welcome(stream: SocketStream) -> None:
            async with stream:
                try:
                    await attend(stream, door.take)
                except Exception as error:  # noqa: BLE001 -- one request's fault ends no other
                    self._warn(f"{self.name} dropped a request: {error!r}")

        try:
            async with listener, send, waiting, anyio.create_task_group() as group:
                group.start_soon(_follow, desk, group.cancel_scope)
                group.start_soon(self._deliver, waiting)
                await desk.hello()
                shown = f"[{host}]" if ":" in host else host
                port = listener.extra(SocketAttribute.local_port)  # noqa: S610 -- no query
                ready(f"{self.name}://{shown}:{port}")
                await listener.serve(welcome)
        finally:
            with anyio.CancelScope(shield=True):
                await connection.aclose()

    def _place(self, url: str) -> tuple[str, int]:
        """Read where to listen; refuses what would be open to strangers."""
        parts = urlsplit(url)
        if not self._secret:
            text = "set plugins.settings.webhook.secret, which the chat program signs with"
            raise FerruleError(f"{url} would be open to strangers: {text}")
        try:
            return str(ipaddress.ip_address(parts.hostname or "127.0.0.1")), parts.port or 0
        except ValueError:
            text = "write webhook://127.0.0.1:PORT, with the address of an interface"
            raise FerruleError(f"{url} cannot be served: {text}") from None

    async def _deliver(self, waiting: MemoryObjectReceiveStream[Outgoing]) -> None:
        """Post one message after the other; what cannot be delivered is told, and dropped."""
        import httpx

        async with httpx.AsyncClient(timeout=_TIMEOUT_S, trust_env=False) as client:
            async for url, message in waiting:
                body = json.dumps(message).encode()
                headers = signed(self._secret, body, time.time())
                headers["content-type"] = "application/json"
                try:
                    answer = await client.post(url, content=body, headers=headers)
                    answer.raise_for_status()
                except (httpx.HTTPError, httpx.InvalidURL) as error:
                    self._warn(f"{self.name} could not post an answer: {type(error).__name__}")


async def _follow(desk: "Desk", whole: anyio.CancelScope) -> None:
    """Take what the server says; when it lets us go, there is nothing left to serve."""
    await desk.listen()
    whole.cancel()
