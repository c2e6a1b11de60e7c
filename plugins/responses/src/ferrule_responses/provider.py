"""The provider `responses`: one POST per request, answered by a stream of server-sent events.

The kernel constructs it once per session; what a request needs is imported when `prewarm` or the
first request asks for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ferrule_wire.credentials import Credentials
from ferrule_wire.exchange import Exchange
from ferrule_wire.settings import Vendor, read_settings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from ferrule_hookspecs.plugins import PluginContext
    from ferrule_hookspecs.provider import ModelEvent, ModelRequest

_OPENAI: Final = Vendor("responses", "https://api.openai.com/v1", "OPENAI_API_KEY")


class ResponsesProvider:
    """Speaks the Responses API over HTTP."""

    def __init__(self, context: PluginContext) -> None:
        """Check the settings; nothing is sent and nothing heavy is imported."""
        settings = read_settings(context.settings, _OPENAI)
        credentials = Credentials(settings, context.environ, context.home)
        self._exchange = Exchange(settings, credentials, "responses")
        self.name = settings.name
        self.stream_max_retries = settings.stream_max_retries

    def prewarm(self) -> None:
        """Import what a request needs; may run in any thread."""
        import ferrule_responses.body
        import ferrule_responses.decoder
        import ferrule_responses.identity  # noqa: F401 -- imported for the first request

        self._exchange.prewarm()

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """Send one request and yield what comes back, ending with `Completed`."""
        from ferrule_responses.body import encode_request
        from ferrule_responses.decoder import ResponseDecoder
        from ferrule_responses.identity import identity_headers

        headers = identity_headers(request.thread_id)
        body = encode_request(request)
        async with self._exchange.events(body, headers, ResponseDecoder()) as events:
            async for event in events:
                yield event

    async def aclose(self) -> None:
        """Close the connections."""
        await self._exchange.aclose()
