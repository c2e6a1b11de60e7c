"""Which events may be merged for a slow reader; apart from `events.py`, to be cheap to import."""

from __future__ import annotations

from typing import Final

DELTA_METHODS: Final = frozenset(
    {
        "item/agentMessage/delta",
        "item/reasoning/summaryTextDelta",
        "item/reasoning/textDelta",
        "item/commandExecution/outputDelta",
    }
)
