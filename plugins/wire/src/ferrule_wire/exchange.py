"""One request out, one decoded stream back: what providers over HTTP have in common.

A provider makes one `Exchange` and hands it a body, headers and a `Decoder` per request. Keys that
can be renewed, connections that are kept, broken streams and secrets in errors are settled here.
"""

from __future__ import annotations

import threading
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING, Final, Protocol

from ferrule_hookspecs.errors import ProviderError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence

    from ferrule_hookspecs.provider import ModelEvent
    from ferrule_wire.channel import Answer, Channel
    from ferrule_wire.credentials import Credentials
    from ferrule_wire.failures import HttpFailure
    from ferrule_wire.sender import Sender
    from ferrule_wire.settings import ProviderSettings

_DRAIN_S: Final = 0.1


class Decoder(Protocol):
    """Turns the bytes of one answer into events.

    Attributes:
        is_complete: The answer ended as it should; what follows is of no interest.
        failure: Why it ended otherwise; events that came before it are still handed out.
    """

    is_complete: bool
    failure: ProviderError | None

    def feed(self, data: bytes) -> Sequence[ModelEvent]:
        """Decode more bytes."""
        ...

    def end(self) -> Sequence[ModelEvent]:
        """Take note that no more bytes come; sets `is_complete` or `failure`."""
        ...


class Exchange:
    """A provider's way to the one URL it sends requests to."""

    def __init__(
        self,
        settings: ProviderSettings,
        credentials: Credentials,
        method: str,
        translate: Callable[[HttpFailure], ProviderError] | None = None,
    ) -> None:
        """Send nothing and import nothing heavy.

        `method` is the path below the base URL. `translate` puts an answer that is not a stream in
        words; without it the words are those of `http_failure`.
        """
        self._settings = settings
        self._credentials = credentials
        self._method = method
        self._translate = translate
        self._channel: Channel | None = None
        self._channel_lock = threading.Lock()  # at most one channel is ever made

    def prewarm(self) -> None:
        """Import what a request needs; may run in any thread."""
        self._sender()

    @asynccontextmanager
    async def events(
        self, body: bytes, headers: Mapping[str, str], decoder: Decoder
    ) -> AsyncGenerator[AsyncIterator[ModelEvent]]:
        """Send a request; inside the block, iterate what comes back, to its end or not.

        Raises:
            ProviderError: There is no stream, or it broke; nothing secret stands in the message.
        """
        try:
            answer = await self._open(body, headers)
            try:
                yield _decoded(answer, decoder)
            finally:
                await answer.aclose()
        except ProviderError as error:
            raise self._credentials.redacted(error) from None

    async def aclose(self) -> None:
        """Close the connections."""
        if self._channel is not None:
            await self._channel.aclose()

    def _sender(self) -> Sender:
        from ferrule_wire.channel import make_channel, target_of
        from ferrule_wire.failures import http_failure
        from ferrule_wire.sender import Sender

        target = target_of(self._settings, self._method)
        with self._channel_lock:
            if self._channel is None:
                self._channel = make_channel(target)
        translate = self._translate or http_failure
        retries = self._settings.request_max_retries
        return Sender(self._channel, target.shown_url, retries, translate)

    async def _open(self, body: bytes, headers: Mapping[str, str]) -> Answer:
        given = {**headers, **await self._credentials.headers()}
        sender = self._sender()
        try:
            return await sender.open(body, given)
        except ProviderError as error:
            if error.status != HTTPStatus.UNAUTHORIZED or not self._credentials.is_renewable:
                raise
        self._credentials.forget()
        return await sender.open(body, {**headers, **await self._credentials.headers()})


async def _decoded(answer: Answer, decoder: Decoder) -> AsyncIterator[ModelEvent]:
    from ferrule_wire.channel import ChannelError
    from ferrule_wire.sender import broken_stream

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
    for event in decoder.end():
        yield event
    if decoder.failure:
        raise decoder.failure


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
