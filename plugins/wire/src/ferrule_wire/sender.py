"""Sends a request over a channel until a stream begins, or says in plain words why none does."""

from __future__ import annotations

import random
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

import anyio

from ferrule_hookspecs.errors import ProviderError
from ferrule_wire.channel import (
    BrokenLineError,
    CertificateError,
    ChannelError,
    IdleLineError,
    UnreachableError,
)
from ferrule_wire.failures import IDLE, TRANSPORT_CUT, HttpFailure, disconnected, http_failure

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ferrule_wire.channel import Answer, Channel

_FIRST_BACKOFF_S: Final = 0.2
_LARGEST_ERROR_BODY: Final = 64 * 1024
_MOMENTARY: Final = frozenset({"internalServerError", "responseStreamConnectionFailed"})


class Sender:
    """Sends requests, trying again silently where the server or the line failed for a moment."""

    def __init__(
        self,
        channel: Channel,
        shown_url: str,
        max_retries: int,
        translate: Callable[[HttpFailure], ProviderError] = http_failure,
    ) -> None:
        """Send nothing yet; `translate` puts an answer that is not a stream in words."""
        self._channel = channel
        self._shown_url = shown_url
        self._max_retries = max_retries
        self._translate = translate

    async def open(self, body: bytes, headers: Mapping[str, str]) -> Answer:
        """Send a request; return the answer as soon as a stream begins. The caller closes it.

        Raises:
            ProviderError: There is no stream, in spite of all retries.
        """
        attempt = 0
        while True:
            try:
                return await self._attempt(body, headers)
            except ProviderError as error:
                # A wait that the server names is left to the kernel, which shows it to the user.
                is_momentary = error.kind in _MOMENTARY and error.retry_after_s is None
                if attempt >= self._max_retries or not is_momentary:
                    raise
            jitter = random.uniform(0.9, 1.1)  # noqa: S311 -- no secret
            await anyio.sleep(_FIRST_BACKOFF_S * 2**attempt * jitter)
            attempt += 1

    async def _attempt(self, body: bytes, headers: Mapping[str, str]) -> Answer:
        try:
            answer = await self._channel.post(body, headers)
        except ChannelError as error:
            raise no_answer(error, self._shown_url) from error
        if answer.status == HTTPStatus.OK:
            return answer
        try:
            text = await _error_text(answer)
        finally:
            await answer.aclose()
        raise self._translate(
            HttpFailure(
                status=answer.status,
                body=text,
                url=self._shown_url,
                retry_after_s=_retry_after(answer.headers),
            )
        )


def no_answer(error: ChannelError, url: str) -> ProviderError:
    """Translate a failure before the answer began."""
    if isinstance(error, CertificateError):
        return ProviderError(
            f"the certificate of {url} cannot be trusted: {error}; "
            "if your network has an authority of its own, name its file in SSL_CERT_FILE",
            kind="httpConnectionFailed",
        )
    if isinstance(error, UnreachableError):
        return ProviderError(
            f"cannot reach {url}: {error}; check the network and the provider's `base_url`",
            retryable=True,
            kind="httpConnectionFailed",
        )
    if isinstance(error, BrokenLineError):
        return ProviderError(
            f"the connection to {url} ended before an answer: {error}",
            retryable=True,
            kind="responseStreamConnectionFailed",
        )
    if isinstance(error, IdleLineError):
        return disconnected(IDLE)
    return ProviderError(f"cannot ask {url}: {error}")


def broken_stream(error: ChannelError) -> ProviderError:
    """Translate a failure after the answer began."""
    return disconnected(IDLE if isinstance(error, IdleLineError) else TRANSPORT_CUT)


async def _error_text(answer: Answer) -> str:
    body = b""
    try:
        async for piece in answer:
            body += piece
            if len(body) >= _LARGEST_ERROR_BODY:
                break
    except ChannelError:
        pass  # the status alone tells enough
    return body.decode("utf-8", "replace")


def _retry_after(headers: Mapping[str, str]) -> float | None:
    value = headers.get("retry-after", "").strip()
    if not value:
        return None
    try:
        return max(float(value), 0.0)
    except ValueError:
        return _seconds_until(value)


def _seconds_until(date: str) -> float | None:
    import time
    from email.utils import parsedate_to_datetime

    try:
        return max(parsedate_to_datetime(date).timestamp() - time.time(), 0.0)
    except ValueError:
        return None
