"""The provider `replay`: plays a recorded conversation instead of asking a model.

Everything else is real: the loop, the tools, the reviews and the sandbox. For demonstrations, for
tests, and for going through a session again.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from ferrule_hookspecs.errors import ConfigError, ProviderError
from ferrule_hookspecs.provider import Completed, ItemAdded, ItemDone, ReasoningDelta, TextDelta
from ferrule_replay.conversation import read_conversation

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from ferrule_hookspecs.history import HistoryItem
    from ferrule_hookspecs.plugins import PluginContext
    from ferrule_hookspecs.provider import ModelEvent, ModelRequest
    from ferrule_hookspecs.threads import TokenUsage

_WORD: Final = re.compile(r"\S+\s*|\s+")
_BYTES_PER_TOKEN: Final = 4


class ReplayProvider:
    """Gives the recorded answers in their order, whatever is asked."""

    stream_max_retries = 0

    def __init__(self, context: PluginContext) -> None:
        """Read the conversation; the kernel has merged the table's `settings` into it."""
        file = context.settings.get("file")
        if not isinstance(file, str) or not file:
            raise ConfigError(
                "the model provider `replay` needs `settings.file`, the path of a recorded "
                "conversation"
            )
        self.name = str(context.settings.get("name") or "replay")
        self._path = Path(context.cwd, file)
        self._answers = read_conversation(self._path)
        self._next = 0

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """Give the next answer.

        Raises:
            ProviderError: All answers have been given.
        """
        if self._next >= len(self._answers):
            raise ProviderError(
                f"the recorded conversation {str(self._path)!r} is over: "
                f"its {len(self._answers)} answers have all been given"
            )
        answer = self._answers[self._next]
        self._next += 1
        for item in answer:
            for event in _spoken(item):
                yield event
        yield Completed(f"replay_{self._next}", _estimated_usage(request, answer))

    async def aclose(self) -> None:
        """Nothing is open."""


def _spoken(item: HistoryItem) -> Iterator[ModelEvent]:
    """Give an item as a model would: begun, word by word, complete."""
    if item["type"] == "message":
        yield ItemAdded(cast("HistoryItem", {**item, "content": []}))
        for part in item["content"]:
            for word in _WORD.findall(part.get("text", "")):
                yield TextDelta(word)
    else:
        yield ItemAdded(item)
    if item["type"] == "reasoning":
        for index, part in enumerate(item["summary"]):
            yield ReasoningDelta(part.get("text", ""), index)
    yield ItemDone(item)


def _estimated_usage(request: ModelRequest, answer: list[HistoryItem]) -> TokenUsage:
    """Nobody counted tokens; bytes give an idea of their number."""
    read = len(str(request.input)) // _BYTES_PER_TOKEN
    written = len(str(answer)) // _BYTES_PER_TOKEN
    return {
        "totalTokens": read + written,
        "inputTokens": read,
        "cachedInputTokens": 0,
        "cacheWriteInputTokens": 0,
        "outputTokens": written,
        "reasoningOutputTokens": 0,
    }
