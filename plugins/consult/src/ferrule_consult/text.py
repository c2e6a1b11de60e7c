"""Bounds on what is sent: messages, text as one line of JSON, cut where it is too long."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from ferrule_hookspecs.history import MessageItem, Role

BYTES_PER_TOKEN: Final = 4
"""A rough measure that needs no model's own tokenizer."""

# What could break a line or hide in one: further line ends, invisible and direction-changing signs,
# halves of characters.
_TREACHEROUS: Final = re.compile(
    "[\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff"
    "\ufff9-\ufffb\U000e0000-\U000e007f]"
)


class Cut(NamedTuple):
    """A text within a bound."""

    text: str
    is_whole: bool


def json_line(value: object) -> str:
    """Write a value as one line that shows everything in it."""
    text = json.dumps(value, ensure_ascii=False)
    return _TREACHEROUS.sub(lambda found: json.dumps(found[0])[1:-1], text)


def tokens(text: str) -> int:
    """Estimate what a text costs."""
    return -(-len(text.encode("utf-8", "surrogatepass")) // BYTES_PER_TOKEN)


def cut(text: str, limit: int) -> Cut:
    """Return a text whose JSON form has at most about that many tokens; its middle goes."""
    room = limit
    shown = _shortened(text, room)
    while tokens(json_line(shown.text)) > limit + 1:
        room = room * 3 // 4
        shown = _shortened(text, room)
        if not room:
            break
    return shown


def _shortened(text: str, limit: int) -> Cut:
    if tokens(text) <= limit:
        return Cut(text, is_whole=True)
    data = text.encode("utf-8", "surrogatepass")
    half = max(limit - 16, 0) * BYTES_PER_TOKEN // 2
    head, tail = data[:half], data[len(data) - half :]
    marker = f"[... {len(data) - 2 * half:,} bytes left out for their length ...]"
    shown = f"{head.decode('utf-8', 'replace')}{marker}{tail.decode('utf-8', 'replace')}"
    return Cut(shown, is_whole=False)


def message(role: Role, text: str) -> MessageItem:
    """Build a message of one text."""
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}
