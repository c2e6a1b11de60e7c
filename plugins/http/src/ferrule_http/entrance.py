"""What every request passes first: the gate, and the rules of browsers for pages from elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response

from ferrule_gate.gate import Knock
from ferrule_http.refusal import Refusal

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from ferrule_gate.gate import Gate

CLIENT_HEADER: Final = "Ferrule-Connection"
_METHODS: Final = "GET, POST, DELETE"
_HEADERS: Final = f"Authorization, Content-Type, {CLIENT_HEADER}, Last-Event-ID"


class Entrance:
    """Lets requests through to the application, or answers them itself."""

    def __init__(self, app: ASGIApp, gate: Gate) -> None:
        self._app = app
        self._gate = gate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Take one request."""
        headers = Headers(scope=scope)
        answer = self._preflight(scope, headers) or self._refuse(scope, headers)
        origin = headers.get("Origin")
        is_listed = origin is not None and self._gate.guard.allows_origin([origin])

        async def send_marked(message: Message) -> None:
            if message["type"] == "http.response.start":
                marked = MutableHeaders(scope=message)
                marked["X-Content-Type-Options"] = "nosniff"
                marked.setdefault("Cache-Control", "no-store")
                if is_listed and origin is not None:
                    marked["Access-Control-Allow-Origin"] = origin
                    marked["Access-Control-Expose-Headers"] = f"{CLIENT_HEADER}, Retry-After"
                    marked.add_vary_header("Origin")
            await send(message)

        await (answer or self._app)(scope, receive, send_marked)

    def _refuse(self, scope: Scope, headers: Headers) -> Response | None:
        refusal = self._gate.judge(
            Knock(
                headers.getlist("Authorization"),
                headers.getlist("Host"),
                headers.getlist("Origin"),
                _reached(scope),
            )
        )
        return None if refusal is None else Refusal(refusal.status, refusal.text)

    def _preflight(self, scope: Scope, headers: Headers) -> Response | None:
        """Answer what a browser asks before it sends a request of a listed page.

        It asks without a token: whoever is not listed hears what it would without one.
        """
        guard = self._gate.guard
        origins = headers.getlist("Origin")
        if (
            scope["method"] != "OPTIONS"
            or "Access-Control-Request-Method" not in headers
            or not origins
            or not guard.allows_origin(origins)
            or not guard.allows_host(headers.getlist("Host"), _reached(scope))
        ):
            return None
        allowed = {
            "Access-Control-Allow-Methods": _METHODS,
            "Access-Control-Allow-Headers": _HEADERS,
            "Access-Control-Max-Age": "600",
        }
        if headers.get("Access-Control-Request-Private-Network") == "true":
            allowed["Access-Control-Allow-Private-Network"] = "true"
        return Response(status_code=204, headers=allowed)


def _reached(scope: Scope) -> str:
    server = scope.get("server")
    return str(server[0]) if server else ""
