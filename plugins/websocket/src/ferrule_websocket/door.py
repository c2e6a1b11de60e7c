"""Who comes in: requests before they become WebSockets, and how many sockets there are."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from ferrule_gate.gate import Knock
from ferrule_gate.throttle import Throttle

if TYPE_CHECKING:
    from websockets.http11 import Request, Response

    from ferrule_gate.gate import Gate
    from ferrule_gate.limits import Limits
    from ferrule_websocket.link import Link

HEALTH_PATHS: Final = ("/readyz", "/healthz")
_STRANGERS: Final = 64
"""Sockets that may be open before they are clients, beyond those that may become some."""


class Door:
    """Judges every request, and counts."""

    def __init__(self, gate: Gate, limits: Limits) -> None:
        self._gate = gate
        self._limits = limits
        self._throttle = Throttle(limits.connections_per_second)
        self.sockets = 0
        self.clients = 0

    @property
    def is_full(self) -> bool:
        """Whether one more socket is not even answered."""
        return self.sockets >= self._limits.max_connections + _STRANGERS

    def answer(self, link: Link, request: Request) -> Response | None:
        """Answer a request that is not to become a WebSocket; None lets it become one."""
        headers = request.headers
        refusal = self._gate.judge(
            Knock(
                headers.get_all("Authorization"),
                headers.get_all("Host"),
                headers.get_all("Origin"),
                link.reached_address,
            )
        )
        if refusal is not None:
            response = link.respond(HTTPStatus(refusal.status), refusal.text)
            if refusal.status == HTTPStatus.UNAUTHORIZED:
                response.headers["WWW-Authenticate"] = "Bearer"
            return response
        if request.method == "GET" and request.path.partition("?")[0] in HEALTH_PATHS:
            return link.respond(HTTPStatus.OK, "ok\n")
        if request.method != "GET" or headers.get("Upgrade", "").lower() != "websocket":
            return link.respond(HTTPStatus.BAD_REQUEST, "This port speaks WebSocket.\n")
        return self._admit(link)

    def _admit(self, link: Link) -> Response | None:
        wait_s = self._throttle.take()
        if wait_s:
            response = link.respond(HTTPStatus.TOO_MANY_REQUESTS, "Too many new connections.\n")
            response.headers["Retry-After"] = str(int(wait_s) + 1)
            return response
        if self.clients >= self._limits.max_connections:
            response = link.respond(HTTPStatus.SERVICE_UNAVAILABLE, "Too many connections.\n")
            response.headers["Retry-After"] = "5"
            return response
        link.count_as_client()
        return None
