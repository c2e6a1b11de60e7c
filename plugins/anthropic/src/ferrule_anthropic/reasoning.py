"""Thinking of the model as a `reasoning` item of the history, and back.

The item's summary is the text people see. Its `encrypted_content` is a mark and the whole block as
JSON, signature or sealed data included: that, and nothing else, goes back to the server. An item
without the mark was written by another API, whose models alone can read it, and is not sent.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, cast

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ferrule_hookspecs.history import ReasoningHistoryItem

_MARK: Final = "anthropic-block:"


def reasoning_item(block: Mapping[str, object]) -> ReasoningHistoryItem:
    """Wrap a `thinking` or `redacted_thinking` block."""
    text = block.get("thinking")
    return {
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": text}] if text else [],  # pyright: ignore[reportReturnType]
        "encrypted_content": _MARK + json.dumps(block, ensure_ascii=False, separators=(",", ":")),
    }


def thinking_block(item: ReasoningHistoryItem) -> dict[str, object] | None:
    """Unwrap the block, exactly as it came; None where the item is not of this API."""
    sealed = item.get("encrypted_content") or ""
    if not sealed.startswith(_MARK):
        return None
    try:
        block: object = json.loads(sealed.removeprefix(_MARK))
    except ValueError:
        return None
    return cast("dict[str, object]", block) if isinstance(block, dict) else None
