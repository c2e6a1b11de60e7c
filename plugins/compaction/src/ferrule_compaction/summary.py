"""The compactor `summary`: the model itself writes down what the next request must know."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ferrule_compaction.checkpoint import Checkpoint, SummaryRefusedError
from ferrule_compaction.prompt import checkpoint_prompt, summary_message, user_message
from ferrule_compaction.retained import left_out, retained_messages
from ferrule_hookspecs.slots import CompactionResult

if TYPE_CHECKING:
    from typing import Literal

    from ferrule_hookspecs.history import HistoryItem
    from ferrule_hookspecs.plugins import PluginContext
    from ferrule_hookspecs.provider import ModelProvider, ModelRequest
    from ferrule_hookspecs.slots import CompactionMaterial

_LEAST_LETTERS: Final = 8
"""What a summary must have at least; less is a slip of the model."""


class SummaryCompactor:
    """Works with every provider. Constructed once per session; holds nothing."""

    name = "summary"

    def __init__(self, context: PluginContext) -> None:
        """Keep the settings."""
        self._context = context

    async def compact(
        self,
        request: ModelRequest,
        provider: ModelProvider,
        *,
        reason: Literal["manual", "auto", "overflow"],
        material: CompactionMaterial,
    ) -> CompactionResult:
        """Ask for a summary and put it behind what the user wrote and the ledger.

        Raises:
            ProviderError: The provider refused for good.
            SummaryRefusedError: There is no summary, or nothing is left in it.
        """
        checkpoint = Checkpoint(request, provider, material, checkpoint_prompt(self._context))
        summary = await checkpoint.summary(overflowed=reason == "overflow")
        check_length(summary)
        return CompactionResult([*kept(material), summary_message(summary)], summary)


def kept(material: CompactionMaterial) -> list[HistoryItem]:
    """Return what stays word for word: the user's messages and the ledger."""
    messages = retained_messages(material)
    ledger: list[HistoryItem] = [] if material.ledger is None else [material.ledger]
    missing = left_out(material, messages)
    if missing:
        messages.insert(0, user_message(f"[… {missing} older messages of the user are left out …]"))
    return [*messages, *ledger]


def check_length(summary: str) -> None:
    """Refuse a summary that says nothing.

    Raises:
        SummaryRefusedError: Too little is left of the history.
    """
    letters = sum(map(str.isalnum, summary))
    if letters < _LEAST_LETTERS:
        raise SummaryRefusedError(
            f"the model's summary has {letters} letters, too few to stand for the history; "
            "the history is kept as it is"
        )
