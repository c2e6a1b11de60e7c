"""The provider `responses`: one POST per request, answered by a stream of server-sent events.

The kernel constructs it once per session; httpx is imported when `prewarm` or the first request
asks for it.
"""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from contextlib import suppress
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from ferrule_hookspecs.errors import ProviderError
from ferrule_responses.credentials import Credentials
from ferrule_responses.settings import read_settings

if TYPE_CHECKING:
    import httpx

    from ferrule_hookspecs.plugins import PluginContext
    from ferrule_hookspecs.provider import ModelEvent, ModelRequest
    from ferrule_responses.connection import Sender

_DRAIN_S: Final = 0.1


class ResponsesProvider:
    """Speaks the Responses API over HTTP."""

    def __init__(self, context: PluginContext) -> None:
        """Check the settings; nothing is sent and nothing heavy is imported."""
        self._settings = read_settings(context.settings)
        self._credentials = Credentials(self._settings, context.environ, context.home)
        self._client: httpx.AsyncClient | None = None
        self._client_lock = threading.Lock()  # at most one client is ever made
        self.name = self._settings.name
        self.stream_max_retries = self._settings.stream_max_retries

    def prewarm(self) -> None:
        """Import the HTTP library and make the client; may run in any thread."""
        self._sender()

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """Send one request and yield what comes back, ending with `Completed`."""
        try:
            response = await self._open(request)
            try:
                async for event in _events(response):
                    yield event
            finally:
                await response.aclose()
        except ProviderError as error:
            raise self._redacted(error) from None

    async def aclose(self) -> None:
        """Close the connection."""
        if self._client is not None:
            await self._client.aclose()

    def _sender(self) -> Sender:
        from ferrule_responses.connection import Sender, endpoint, make_client

        target = endpoint(self._settings)
        with self._client_lock:
            if self._client is None:
                self._client = make_client(self._settings)
        return Sender(self._client, target, self._settings.request_max_retries)

    async def _open(self, request: ModelRequest) -> httpx.Response:
        from ferrule_responses.body import encode_request
        from ferrule_responses.identity import identity_headers

        own = identity_headers(request.thread_id)
        headers = own | await self._credentials.headers()
        sender = self._sender()
        body = encode_request(request)
        try:
            return await sender.open(body, headers)
        except ProviderError as error:
            if error.status != HTTPStatus.UNAUTHORIZED or not self._credentials.is_renewable:
                raise
        self._credentials.forget()
        return await sender.open(body, own | await self._credentials.headers())

    def _redacted(self, error: ProviderError) -> ProviderError:
        error.args = (self._credentials.redact(str(error)),)
        if error.details:
            error.details = self._credentials.redact(error.details)
        return error


async def _events(response: httpx.Response) -> AsyncIterator[ModelEvent]:
    from ferrule_responses.connection import transport_failures
    from ferrule_responses.decoder import ResponseDecoder
    from ferrule_responses.failures import NOT_COMPLETED, disconnected

    decoder = ResponseDecoder()
    chunks = response.aiter_bytes()
    with transport_failures():
        async for chunk in chunks:
            events = decoder.feed(chunk)
            if decoder.is_complete:
                await _drain(chunks)
            for event in events:
                yield event
            if decoder.failure:
                raise decoder.failure
            if decoder.is_complete:
                return
    raise disconnected(NOT_COMPLETED)


async def _drain(chunks: AsyncIterator[bytes]) -> None:
    """Read the end of the answer, so that the connection can serve the next request."""
    import anyio
    import httpx

    with anyio.move_on_after(_DRAIN_S), suppress(httpx.HTTPError):
        async for _ in chunks:
            pass
