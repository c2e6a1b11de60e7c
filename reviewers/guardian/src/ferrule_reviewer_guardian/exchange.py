"""One question to the reviewing model: a deadline over all of it, and one more attempt at most."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final, NamedTuple, cast

import anyio

from ferrule_hookspecs.errors import FerruleError, ProviderError
from ferrule_hookspecs.provider import Completed, ItemDone

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from ferrule_hookspecs.history import HistoryItem
    from ferrule_hookspecs.provider import ModelEvent, ModelProvider, ModelRequest
    from ferrule_hookspecs.threads import TokenUsage

_ATTEMPTS: Final = 2
_PAUSE_S: Final = 0.5
_CLOSING_S: Final = 2.0


class ReviewTimeoutError(FerruleError):
    """The review was not finished before its deadline."""


class Answer(NamedTuple):
    """What the model said, and what that took."""

    text: str
    usage: TokenUsage | None
    requests: int


async def answer_of(provider: ModelProvider, request: ModelRequest, timeout_s: float) -> Answer:
    """Ask, and once more where the provider says that this may help.

    Raises:
        ReviewTimeoutError: There was no answer in time.
        ProviderError: The request failed.
    """
    try:
        with anyio.fail_after(timeout_s):
            return await _asked(provider, request)
    except TimeoutError:
        raise ReviewTimeoutError(f"it was not finished within {timeout_s:g} s") from None


async def _asked(provider: ModelProvider, request: ModelRequest) -> Answer:
    attempt = 1
    while True:
        try:
            return await _streamed(provider, request, attempt)
        except ProviderError as error:
            if not error.retryable or attempt == _ATTEMPTS:
                raise
            await anyio.sleep(_PAUSE_S if error.retry_after_s is None else error.retry_after_s)
        attempt += 1


async def _streamed(provider: ModelProvider, request: ModelRequest, attempt: int) -> Answer:
    texts: list[str] = []
    async with _events(provider, request) as events:
        async for event in events:
            if isinstance(event, ItemDone):
                texts += _texts(event.item)
            elif isinstance(event, Completed):
                return Answer("\n".join(texts), event.usage, attempt)
    raise ProviderError("the answer broke off", retryable=True, kind="responseStreamDisconnected")


@asynccontextmanager
async def _events(
    provider: ModelProvider, request: ModelRequest
) -> AsyncGenerator[AsyncIterator[ModelEvent]]:
    stream = provider.stream(request)
    try:
        yield stream
    finally:
        if isinstance(stream, AsyncGenerator):
            with anyio.move_on_after(_CLOSING_S, shield=True):
                await cast("AsyncGenerator[ModelEvent]", stream).aclose()


def _texts(item: HistoryItem) -> list[str]:
    if item["type"] != "message":
        return []
    return [part.get("text", "") for part in item["content"]]
