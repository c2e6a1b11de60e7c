"""The requests: open a connection, post a message, read events, close. Nothing of the protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
from starlette.applications import Starlette
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from ferrule_gate.throttle import Throttle
from ferrule_hookspecs.errors import FerruleError
from ferrule_hookspecs.serving import Peer
from ferrule_http.body import BodyError, BodyReader
from ferrule_http.client import GoneError
from ferrule_http.entrance import CLIENT_HEADER, Entrance
from ferrule_http.refusal import Refusal
from ferrule_http.replay import UnknownEventError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from starlette.requests import Request
    from starlette.types import ASGIApp, Receive, Scope, Send

    from ferrule_gate.gate import Gate
    from ferrule_http.client import Client
    from ferrule_http.clients import Clients
    from ferrule_http.settings import Settings


class _EventStream(StreamingResponse):
    """Ends the reading when the client is gone, wherever it was just then."""

    def __init__(self, events: AsyncGenerator[bytes]) -> None:
        super().__init__(
            events, headers={"X-Accel-Buffering": "no"}, media_type="text/event-stream"
        )
        self._events = events

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            with anyio.CancelScope(shield=True):
                await self._events.aclose()


class Application:
    """Answers requests that have passed the entrance."""

    def __init__(self, clients: Clients, settings: Settings) -> None:
        self._clients = clients
        self._bodies = BodyReader(settings.limits)
        self._arrivals = Throttle(settings.limits.connections_per_second)

    def behind(self, gate: Gate) -> ASGIApp:
        """Return the whole, with the entrance in front."""
        routes = [
            Route("/connection", self._open, methods=["POST"]),
            Route("/connection", self._close, methods=["DELETE"]),
            Route("/rpc", self._post, methods=["POST"]),
            Route("/events", self._events, methods=["GET"]),
            Route("/readyz", _health, methods=["GET"]),
            Route("/healthz", _health, methods=["GET"]),
        ]
        return Entrance(Starlette(routes=routes), gate)

    async def _open(self, request: Request) -> Response:
        if wait_s := self._arrivals.take():
            return Refusal(429, "Too many new connections.\n", wait_s)
        if self._clients.is_full:
            return Refusal(503, "Too many connections.\n", 5)
        client = request.client
        try:
            secret = self._clients.open(
                Peer("http", f"{client.host}:{client.port}" if client else "")
            )
        except FerruleError as error:
            return Refusal(503, f"{error}\n", 5)
        return JSONResponse({"connection": secret}, 201, {CLIENT_HEADER: secret})

    async def _close(self, request: Request) -> Response:
        client = self._client(request)
        if client is None:
            return _unknown()
        client.close()
        return Response(status_code=204)

    async def _post(self, request: Request) -> Response:
        client = self._client(request)
        if client is None:
            return _unknown()
        if wait_s := client.throttle.take():
            return Refusal(429, "Too many messages.\n", wait_s)
        if client.is_busy:
            return Refusal(429, "Too many messages wait to be taken.\n", 1)
        try:
            async with self._bodies.reading(request) as message:
                await client.post(message)
        except BodyError as error:
            return Refusal(error.status, error.text)
        except GoneError:
            return _unknown()
        return Response(status_code=202)

    async def _events(self, request: Request) -> Response:
        client = self._client(request)
        if client is None:
            return _unknown()
        seen = request.headers.get("Last-Event-ID") or "0"
        try:
            if not seen.isdecimal() or len(seen) > 18:
                raise UnknownEventError  # noqa: TRY301 -- it is one mistake to a client
            events = client.log.open(int(seen))
        except UnknownEventError:
            return Refusal(400, "Last-Event-ID names no event of this connection.\n")
        client.touch()
        return _EventStream(events)

    def _client(self, request: Request) -> Client | None:
        return self._clients.find(request.headers.get(CLIENT_HEADER, ""))


async def _health(request: Request) -> Response:
    return PlainTextResponse("ok\n")


def _unknown() -> Response:
    return Refusal(
        404, f"Unknown or closed connection: POST /connection, and send {CLIENT_HEADER}.\n"
    )
