"""What commands print, where that is plain to see, and what filters make of it."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING

from ferrule_rules.reading import DEEPEST, Word
from ferrule_rules.word_values import printed
from ferrule_rules.wrappers import inner_of, program

if TYPE_CHECKING:
    from collections.abc import Sequence


def printed_by(argv: Sequence[Word], depth: int = 0) -> Word:
    """What a command prints, wrapped up or not."""
    text = printed(argv)
    if text is None and depth < DEEPEST:
        for inner in inner_of(tuple(argv)):
            text = text or printed_by(inner.argv, depth + 1)
    return text


def filtered(text: Word, argv: Sequence[Word]) -> Word:
    """What a filter makes of a text."""
    if text is None or not argv:
        return None
    name = program(argv[0])
    if name in ("cat", "tee"):
        return text
    if name == "rev":
        return "\n".join(line[::-1] for line in text.split("\n"))
    try:
        if name == "base64" and {"-d", "-D", "--decode", "-di"} & set(argv):
            return base64.b64decode(text.encode()).decode("utf-8", "replace")
        if name == "xxd" and "-r" in argv:
            return bytes.fromhex("".join(text.split())).decode("utf-8", "replace")
    except (binascii.Error, ValueError):
        return None
    return None
