"""Asks the model for a summary, in a request that begins with the very bytes of the one before.

Input and tools stay and one message is put at the end, so that the provider reads nearly all of it
from its cache. Where that is too long it is trimmed in one step, to a number of tokens.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, cast

import anyio

from ferrule_compaction.prompt import user_message
from ferrule_compaction.trimming import trimmed
from ferrule_hookspecs.errors import FerruleError, ProviderError
from ferrule_hookspecs.provider import ItemDone, TextDelta
from ferrule_hookspecs.token_counts import BYTES_PER_TOKEN, estimate_tokens

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from ferrule_hookspecs.history import HistoryItem
    from ferrule_hookspecs.provider import ModelProvider, ModelRequest
    from ferrule_hookspecs.slots import CompactionMaterial

_FULL: Final = 0.97
"""Share of the window from which on a request is not even tried whole."""
_BUDGET: Final = 0.8
"""Share of the window that is left to a trimmed request: the summary needs room as well."""
_UNKNOWN: Final = 0.5
"""Share of what did not fit, where the window is not known."""
_TRIMS: Final = 3
_ROUNDS: Final = 2
_RETRIES: Final = 3
_BACKOFF_S: Final = 0.2
_NO_TOOLS: Final = "Not carried out: only the note is wanted now. Answer with the note alone."


class SummaryRefusedError(FerruleError):
    """The model gave nothing that could stand for the history."""


class Checkpoint:
    """One request for a summary, in as many attempts as it needs."""

    def __init__(
        self,
        request: ModelRequest,
        provider: ModelProvider,
        material: CompactionMaterial,
        prompt: str,
    ) -> None:
        """Take what is to be summed up, and the words that ask for it."""
        self._request = request._replace(kind="compaction", output_schema=None)
        self._provider = provider
        self._material = material
        self._prompt = user_message(prompt)
        self._estimate = self._size(request.input)

    async def summary(self, *, overflowed: bool) -> str:
        """Return the summary.

        Raises:
            ProviderError: The provider refused for good.
            SummaryRefusedError: The model wrote none.
        """
        window, tokens = self._material.window, self._material.tokens
        trims = int(overflowed or (window is not None and tokens >= window * _FULL))
        while True:
            try:
                return await self._answer(self._input(trims))
            except ProviderError as error:
                if error.kind != "contextWindowExceeded" or trims >= _TRIMS:
                    raise
                trims += 1

    def _input(self, trims: int) -> list[HistoryItem]:
        """The whole input, or so much of it as should fit; half as much with every trim more."""
        if not trims:
            return list(self._request.input)
        known = max(self._material.tokens, self._estimate, 1)
        room = known * _UNKNOWN
        if self._material.window:
            room = min(self._material.window * _BUDGET, known * _BUDGET)
        room = room / 2 ** (trims - 1) * min(self._estimate / known, 1)  # in estimated tokens
        outside = self._size(())
        return trimmed(self._request.input, self._material.prefix, int(room) - outside)

    def _size(self, items: Sequence[HistoryItem]) -> int:
        tools = [[*schema] for schema in self._request.tools]
        written = json.dumps(tools, ensure_ascii=False, default=dict)
        return estimate_tokens([*items, self._prompt]) + len(written) // BYTES_PER_TOKEN

    async def _answer(self, items: Sequence[HistoryItem]) -> str:
        """Ask, and once more where the model calls tools instead of answering."""
        asked = [*items, self._prompt]
        for _ in range(_ROUNDS):
            text, calls = await self._sent(self._request._replace(input=tuple(asked)))
            if text.strip():
                return text.strip()
            if not calls:
                break
            asked += [*calls, *map(_refusal, calls)]
        raise SummaryRefusedError("the model wrote no summary; the history is kept as it is")

    async def _sent(self, request: ModelRequest) -> tuple[str, list[HistoryItem]]:
        """Send a request, again where the provider says that it may help."""
        bound = min(self._provider.stream_max_retries, _RETRIES)
        attempt = 0
        while True:
            try:
                return await _read(self._provider, request)
            except ProviderError as error:
                attempt += 1
                if error.max_retries is not None:
                    bound = min(bound, error.max_retries)
                if not error.retryable or attempt > bound:
                    raise
                wait = error.retry_after_s
                await anyio.sleep(_BACKOFF_S * 2 ** (attempt - 1) if wait is None else wait)


async def _read(provider: ModelProvider, request: ModelRequest) -> tuple[str, list[HistoryItem]]:
    """Return the text of the answer, and the calls that were made instead."""
    said: list[str] = []
    written: list[str] = []
    calls: list[HistoryItem] = []
    stream = cast("AsyncGenerator[object]", provider.stream(request))
    try:
        async for event in stream:
            if isinstance(event, TextDelta):
                said.append(event.delta)
            elif isinstance(event, ItemDone):
                if event.item["type"] in ("function_call", "custom_tool_call"):
                    calls.append(event.item)
                elif event.item["type"] == "message":
                    written += [part.get("text", "") for part in event.item["content"]]
    finally:
        if hasattr(stream, "aclose"):
            with anyio.CancelScope(shield=True), anyio.move_on_after(5):
                await stream.aclose()
    return "".join(written or said), calls


def _refusal(call: HistoryItem) -> HistoryItem:
    fields = cast("dict[str, object]", call)
    output = {"type": f"{call['type']}_output", "call_id": fields["call_id"], "output": _NO_TOOLS}
    return cast("HistoryItem", output)
