"""One question to a model: a deadline over all of it, one more attempt, look-ups if allowed."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final, NamedTuple, cast

import anyio

from ferrule_hookspecs.errors import FerruleError, ProviderError
from ferrule_hookspecs.provider import Completed, ItemDone
from ferrule_hookspecs.token_counts import add_usage

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from ferrule_consult.lookups import LookUps
    from ferrule_hookspecs.history import FunctionCallItem, HistoryItem
    from ferrule_hookspecs.provider import ModelEvent, ModelProvider, ModelRequest
    from ferrule_hookspecs.threads import TokenUsage

_ATTEMPTS: Final = 2
_PAUSE_S: Final = 0.5
_CLOSING_S: Final = 2.0


class ConsultTimeoutError(FerruleError):
    """There was no answer before the deadline."""


class Answer(NamedTuple):
    """What the model said, and what that took."""

    text: str
    usage: TokenUsage | None
    requests: int
    lookups: int = 0


class _Reply(NamedTuple):
    """What one request gave."""

    items: Sequence[HistoryItem]
    usage: TokenUsage | None
    attempts: int

    @property
    def text(self) -> str:
        return "\n".join(text for item in self.items for text in _texts(item))

    @property
    def calls(self) -> list[FunctionCallItem]:
        return [item for item in self.items if item["type"] == "function_call"]


async def answer_of(
    provider: ModelProvider,
    request: ModelRequest,
    timeout_s: float,
    lookups: LookUps | None = None,
) -> Answer:
    """Ask, and once more where the provider says that this may help.

    Args:
        provider: Whom to ask.
        request: What to ask; with look-ups its `tools` must be theirs.
        timeout_s: The deadline of everything together.
        lookups: What the model may look at before it answers; each round is one more request, and
            there are never more rounds than look-ups.

    Raises:
        ConsultTimeoutError: There was no answer in time.
        ProviderError: The request failed.
    """
    try:
        with anyio.fail_after(timeout_s):
            return await _consulted(provider, request, lookups)
    except TimeoutError:
        raise ConsultTimeoutError(f"it was not finished within {timeout_s:g} s") from None


async def _consulted(
    provider: ModelProvider, request: ModelRequest, lookups: LookUps | None
) -> Answer:
    reply = await _asked(provider, request)
    usage, requests, rounds = reply.usage, reply.attempts, 0
    while lookups is not None and reply.calls and rounds <= lookups.limit:
        rounds += 1
        outputs = [await lookups.answer(call) for call in reply.calls]
        request = request._replace(input=[*request.input, *reply.items, *outputs])
        reply = await _asked(provider, request)
        usage, requests = _sum(usage, reply.usage), requests + reply.attempts
    return Answer(reply.text, usage, requests, 0 if lookups is None else lookups.made)


async def _asked(provider: ModelProvider, request: ModelRequest) -> _Reply:
    attempt = 1
    while True:
        try:
            return await _streamed(provider, request, attempt)
        except ProviderError as error:
            if not error.retryable or attempt == _ATTEMPTS:
                raise
            await anyio.sleep(_PAUSE_S if error.retry_after_s is None else error.retry_after_s)
        attempt += 1


async def _streamed(provider: ModelProvider, request: ModelRequest, attempt: int) -> _Reply:
    items: list[HistoryItem] = []
    async with _events(provider, request) as events:
        async for event in events:
            if isinstance(event, ItemDone):
                items.append(event.item)
            elif isinstance(event, Completed):
                return _Reply(items, event.usage, attempt)
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


def _sum(first: TokenUsage | None, second: TokenUsage | None) -> TokenUsage | None:
    return add_usage(first, second) if first and second else first or second
