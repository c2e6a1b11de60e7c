"""Requests over HTTP: one POST each, answered by a stream of server-sent events."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_hookspecs.errors import ProviderError
from ferrule_wire.exchange import Exchange

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from ferrule_hookspecs.provider import ModelEvent, ModelRequest
    from ferrule_wire.credentials import Credentials
    from ferrule_wire.settings import ProviderSettings


class HttpTransport:
    """Sends every request whole."""

    def __init__(self, settings: ProviderSettings, credentials: Credentials) -> None:
        """Send nothing and import nothing heavy."""
        self._exchange = Exchange(settings, credentials, "responses")
        self._compaction = Exchange(settings, credentials, "responses/compact")

    def prewarm(self) -> None:
        """Import what a request needs; may run in any thread."""
        import ferrule_responses.body
        import ferrule_responses.decoder
        import ferrule_responses.identity  # noqa: F401 -- imported for the first request

        self._exchange.prewarm()

    async def warm_up(self, request: ModelRequest) -> None:
        """Do nothing: the server of one request knows nothing of the next."""

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent]:
        """Send one request and yield what comes back, ending with `Completed`."""
        from ferrule_responses.body import encode_request
        from ferrule_responses.decoder import ResponseDecoder
        from ferrule_responses.freeform import disguised_tools
        from ferrule_responses.identity import identity_headers

        headers = identity_headers(request.thread_id)
        body = encode_request(request)
        decoder = ResponseDecoder(disguised_tools(request))
        try:
            async with self._exchange.events(body, headers, decoder) as events:
                async for event in events:
                    yield event
        except ProviderError as error:
            from ferrule_responses.special import explained

            raise explained(error, request.special_tools) from None

    async def compact(self, request: ModelRequest) -> AsyncGenerator[ModelEvent]:
        """Have the server shorten a history; yields its items, ending with `Completed`."""
        from ferrule_responses.compaction import CompactionDecoder, encode_compaction
        from ferrule_responses.identity import identity_headers

        headers = {**identity_headers(request.thread_id), "accept": "application/json"}
        body, decoder = encode_compaction(request), CompactionDecoder()
        async with self._compaction.events(body, headers, decoder) as events:
            async for event in events:
                yield event

    async def aclose(self) -> None:
        """Close the connections."""
        await self._exchange.aclose()
        await self._compaction.aclose()
