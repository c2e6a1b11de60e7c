"""The provider `responses`: requests over HTTP, or over a WebSocket where the table asks for it.

The kernel constructs it once per session; what a request needs is imported when `prewarm` or the
first request asks for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from ferrule_hookspecs.errors import ConfigError
from ferrule_responses.http import HttpTransport
from ferrule_wire.credentials import Credentials
from ferrule_wire.settings import Vendor, read_settings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from ferrule_hookspecs.plugins import PluginContext
    from ferrule_hookspecs.provider import ModelEvent, ModelRequest

_OPENAI: Final = Vendor("responses", "https://api.openai.com/v1", "OPENAI_API_KEY")
_CONNECT_TIMEOUT_MS: Final = 15_000


class Transport(Protocol):
    """A way for requests to the server and for events back; each method is as in the provider."""

    def prewarm(self) -> None:
        """Import what a request needs."""
        ...

    async def warm_up(self, request: ModelRequest) -> None:
        """Prepare the server for a session's first request."""
        ...

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """Send one request."""
        ...

    async def aclose(self) -> None:
        """Close the connections."""
        ...


class ResponsesProvider:
    """Speaks the Responses API."""

    special_tools = ("tool_search", "web_search")

    def __init__(self, context: PluginContext) -> None:
        """Check the settings; nothing is sent and nothing heavy is imported."""
        settings = read_settings(context.settings, _OPENAI)
        credentials = Credentials(settings, context.environ, context.home)
        over_http = HttpTransport(settings, credentials)
        self._transport: Transport = over_http
        self._over_http = over_http
        self.name = settings.name
        self.stream_max_retries = settings.stream_max_retries
        connect_timeout_s = _connect_timeout_s(context.settings)
        if connect_timeout_s is not None:
            _check_library(settings.name)
            from ferrule_responses.websocket import WebSocketTransport

            self._transport = WebSocketTransport(
                settings, credentials, over_http, connect_timeout_s
            )

    def prewarm(self) -> None:
        """Import what a request needs; may run in any thread."""
        self._transport.prewarm()

    async def warm_up(self, request: ModelRequest) -> None:
        """Have the server read what a session's first request will begin with, where it can."""
        await self._transport.warm_up(request)

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """Send one request and yield what comes back, ending with `Completed`."""
        return self._transport.stream(request)

    def compact(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """Have the server shorten a history; yields its items, ending with `Completed`."""
        return self._over_http.compact(request)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._transport.aclose()


def _connect_timeout_s(table: Mapping[str, object]) -> float | None:
    """Say how long a WebSocket may take to open; None where none is asked for."""
    wanted = table.get("supports_websockets")
    timeout_ms = table.get("websocket_connect_timeout_ms")
    if timeout_ms is None:
        timeout_ms = _CONNECT_TIMEOUT_MS
    if not isinstance(wanted, bool | None):
        raise ConfigError("model provider setting 'supports_websockets' must be true or false")
    if not isinstance(timeout_ms, int) or isinstance(timeout_ms, bool) or timeout_ms < 0:
        raise ConfigError(
            "model provider setting 'websocket_connect_timeout_ms' must be a number, zero or more"
        )
    return timeout_ms / 1000 if wanted else None


def _check_library(provider: str) -> None:
    from importlib.util import find_spec

    if find_spec("websockets") is None:
        raise ConfigError(
            f"supports_websockets of the model provider {provider!r} needs the library websockets; "
            "install 'ferrule-responses[websocket]', or take the setting out"
        )
