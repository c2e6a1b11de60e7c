"""Streamable HTTP: the protocol's own sessions behind the gate that all network doors share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

import anyio
from mcp.server.streamable_http import LAST_EVENT_ID_HEADER, MCP_SESSION_ID_HEADER
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER
from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import PlainTextResponse

from ferrule_gate.gate import GUARD_KEYS, Knock, make_gate
from ferrule_gate.place import listen, parse_place
from ferrule_gate.web_server import WebServer
from ferrule_mcp_server.event_store import RecentEvents

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from starlette.types import ASGIApp, Receive, Scope, Send

    from ferrule_gate.gate import Gate
    from ferrule_hookspecs.host import Config
    from ferrule_mcp_server.arguments import Options
    from ferrule_mcp_server.server import McpServer

PATH: Final = "/mcp"
_TABLE: Final = "transports.http"
_MOST_SESSIONS: Final = 64
_MOST_SOCKETS: Final = 512
_HEADERS: Final = (
    "Authorization",
    "Content-Type",
    LAST_EVENT_ID_HEADER,
    MCP_SESSION_ID_HEADER,
    MCP_PROTOCOL_VERSION_HEADER,
    "Mcp-Method",
    "Mcp-Name",
)
"""What a page may send, beside what every page may."""


async def serve_http(
    server: McpServer, config: Config, options: Options, ready: Callable[[str], None]
) -> None:
    """Serve until cancelled.

    Raises:
        FerruleError: It cannot listen there, or it would be open to strangers.
    """
    place = parse_place(options.url, "http")
    table = cast("Mapping[str, object]", config.get(_TABLE) or {})
    guarding = {key: value for key, value in table.items() if key in GUARD_KEYS}
    gate = make_gate(place, options.auth, guarding, _TABLE)
    listener, place = listen(place)
    url = place.url("http") + PATH
    with listener:
        sessions = _Sessions(server.protocol, max_sessions=_MOST_SESSIONS)
        async with sessions.run(), anyio.create_task_group() as group:
            web = WebServer(
                _for_pages(_Entrance(sessions.handle_request, gate), gate),
                most_sockets=_MOST_SOCKETS,
            )
            group.start_soon(web.run_shielded, listener)
            try:
                await web.is_up.wait()
                ready(url)
                await anyio.sleep_forever()
            finally:
                web.should_exit = True


class _Sessions(StreamableHTTPSessionManager):
    """The library's, with a memory of its own for each session."""

    @property
    def event_store(self) -> RecentEvents:  # pyright: ignore[reportIncompatibleVariableOverride] -- one for all would show a session what others were sent
        """Return the memory for a session that is opened."""
        return RecentEvents()

    @event_store.setter
    def event_store(self, value: object) -> None:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Take nothing: each session has its own."""


class _Entrance:
    """Lets requests through to the sessions that the gate lets in."""

    def __init__(self, app: ASGIApp, gate: Gate) -> None:
        self._app = app
        self._gate = gate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        reached = scope.get("server")
        refusal = self._gate.judge(
            Knock(
                headers.getlist("Authorization"),
                headers.getlist("Host"),
                headers.getlist("Origin"),
                str(reached[0]) if reached else "",
            )
        )
        app = self._app
        if refusal is not None:
            marks = {"WWW-Authenticate": "Bearer"} if refusal.status == 401 else {}
            app = PlainTextResponse(refusal.text, refusal.status, marks)
        elif scope["path"].rstrip("/") != PATH:
            app = PlainTextResponse(f"The server is at {PATH}.\n", 404)
        await app(scope, receive, send)


def _for_pages(app: ASGIApp, gate: Gate) -> ASGIApp:
    """Tell browsers what pages of the listed origins may send and read; those alone pass the gate.

    It stands before the gate, as browsers ask for that without a token.
    """
    return CORSMiddleware(
        app,
        allow_origins=gate.guard.origins,
        allow_methods=("GET", "POST", "DELETE"),
        allow_headers=_HEADERS,
        expose_headers=(MCP_SESSION_ID_HEADER,),
    )
