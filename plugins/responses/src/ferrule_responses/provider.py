"""The provider `responses`: one POST per request, answered by a stream of server-sent events.

The kernel constructs it once per session; what a request needs is imported when `prewarm` or the
first request asks for it.
"""

from __future__ import annotations

import threading
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from ferrule_hookspecs.errors import ProviderError
from ferrule_wire.credentials import Credentials
from ferrule_wire.settings import Vendor, read_settings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from ferrule_hookspecs.plugins import PluginContext
    from ferrule_hookspecs.provider import ModelEvent, ModelRequest
    from ferrule_wire.channel import Answer, Channel
    from ferrule_wire.sender import Sender

_DRAIN_S: Final = 0.1
_OPENAI: Final = Vendor("responses", "https://api.openai.com/v1", "OPENAI_API_KEY")


class ResponsesProvider:
    """Speaks the Responses API over HTTP."""

    def __init__(self, context: PluginContext) -> None:
        """Check the settings; nothing is sent and nothing heavy is imported."""
        self._settings = read_settings(context.settings, _OPENAI)
        self._credentials = Credentials(self._settings, context.environ, context.home)
        self._channel: Channel | None = None
        self._channel_lock = threading.Lock()  # at most one channel is ever made
        self.name = self._settings.name
        self.stream_max_retries = self._settings.stream_max_retries

    def prewarm(self) -> None:
        """Import what a request needs; may run in any thread."""
        import ferrule_responses.body
        import ferrule_responses.decoder
        import ferrule_responses.identity  # noqa: F401 -- imported for the first request

        self._sender()

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """Send one request and yield what comes back, ending with `Completed`."""
        try:
            answer = await self._open(request)
            try:
                async for event in _events(answer):
                    yield event
            finally:
                await answer.aclose()
        except ProviderError as error:
            raise self._redacted(error) from None

    async def aclose(self) -> None:
        """Close the connections."""
        if self._channel is not None:
            await self._channel.aclose()

    def _sender(self) -> Sender:
        from ferrule_wire.channel import make_channel, target_of
        from ferrule_wire.sender import Sender

        target = target_of(self._settings, "responses")
        with self._channel_lock:
            if self._channel is None:
                self._channel = make_channel(target)
        return Sender(self._channel, target.shown_url, self._settings.request_max_retries)

    async def _open(self, request: ModelRequest) -> Answer:
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


async def _events(answer: Answer) -> AsyncIterator[ModelEvent]:
    from ferrule_responses.decoder import ResponseDecoder
    from ferrule_wire.channel import ChannelError
    from ferrule_wire.failures import NOT_COMPLETED, disconnected
    from ferrule_wire.sender import broken_stream

    decoder = ResponseDecoder()
    pieces = aiter(answer)
    try:
        async for piece in pieces:
            events = decoder.feed(piece)
            if decoder.is_complete:
                await _drain(pieces)
            for event in events:
                yield event
            if decoder.failure:
                raise decoder.failure
            if decoder.is_complete:
                return
    except ChannelError as error:
        raise broken_stream(error) from error
    raise disconnected(NOT_COMPLETED)


async def _drain(pieces: AsyncIterator[bytes]) -> None:
    """Read the end of the answer, so that the connection can serve the next request."""
    import anyio

    from ferrule_wire.channel import ChannelError

    with anyio.move_on_after(_DRAIN_S):
        try:
            async for _ in pieces:
                pass
        except ChannelError:
            return  # the connection is closed instead
