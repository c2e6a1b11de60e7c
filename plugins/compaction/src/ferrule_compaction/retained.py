"""What stays word for word: the user's messages, the newest first, within a number of tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ferrule_compaction.prompt import user_message
from ferrule_hookspecs.token_counts import BYTES_PER_TOKEN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ferrule_hookspecs.history import HistoryItem
    from ferrule_hookspecs.slots import CompactionMaterial

_MOST_TOKENS: Final = 20_000
_SHARE_OF_WINDOW: Final = 4
_LEAST_PIECE: Final = 16


def text_tokens(text: str) -> int:
    """Estimate the tokens of a text."""
    return -(-len(text.encode("utf-8", "replace")) // BYTES_PER_TOKEN)


def retained_messages(material: CompactionMaterial) -> list[HistoryItem]:
    """Return the user's messages, oldest first; the oldest that counts is cut in its middle."""
    room = _MOST_TOKENS
    if material.window:
        room = min(room, material.window // _SHARE_OF_WINDOW)
    kept: list[str] = []
    for text in reversed(material.user_texts):
        if not text.strip():
            continue
        size = text_tokens(text)
        kept.append(text if size <= room else cut_middle(text, room))
        room -= size
        if room <= _LEAST_PIECE:
            break
    return [user_message(text) for text in reversed(kept)]


def cut_middle(text: str, tokens: int) -> str:
    """Shorten a text to about so many tokens, and say in its middle what is missing."""
    missing = text_tokens(text) - tokens
    if missing <= 0:
        return text
    data = text.encode("utf-8", "replace")
    half = max(tokens, _LEAST_PIECE) * BYTES_PER_TOKEN // 2
    head, tail = data[:half].decode("utf-8", "ignore"), data[-half:].decode("utf-8", "ignore")
    return f"{head}\n[… {missing} tokens are left out here …]\n{tail}"


def left_out(material: CompactionMaterial, kept: Sequence[HistoryItem]) -> int:
    """Say how many of the user's messages are not among those that stay."""
    return sum(1 for text in material.user_texts if text.strip()) - len(kept)
