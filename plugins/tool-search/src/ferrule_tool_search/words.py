"""Words of names, descriptions and questions, in the form in which they are compared.

Names fall apart at underscores, dashes, dots and where a capital begins; endings that only mark
number or time are cut off, so that `creating issues` finds `create_issue`.
"""

from __future__ import annotations

import re
from typing import Final

_PARTS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+")
_COMMON_TEXT: Final = """a an and are as at be by can for from how i in is it its me my of on or
that the this to use used want what which with you your"""
_COMMON: Final = frozenset(_COMMON_TEXT.split())
_SHORTEST: Final = 3


def words(text: str) -> list[str]:
    """Return the words that matter, in order."""
    found = (part.lower() for part in _PARTS.findall(text))
    return [_stem(word) for word in found if word not in _COMMON]


def _stem(word: str) -> str:
    """Cut off an ending; what comes out need not be a word, only the same for all forms."""
    if not word.isascii() or not word.isalpha():
        return word
    stem = word
    if stem.endswith("ies") and len(stem) > _SHORTEST + 1:
        stem = stem[:-3] + "y"
    elif stem.endswith("s") and not stem.endswith(("ss", "us", "is")) and len(stem) > _SHORTEST:
        stem = stem[:-1]
    for ending in ("ing", "ed"):
        rest = stem.removesuffix(ending)
        if rest != stem and len(rest) >= _SHORTEST:
            is_doubled = len(rest) > _SHORTEST and rest[-1] == rest[-2] and rest[-1] not in "lsz"
            stem = rest[:-1] if is_doubled else rest
            break
    return stem.removesuffix("e") if len(stem) > _SHORTEST else stem
