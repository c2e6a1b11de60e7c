"""How a command line is shown: quoted for a POSIX shell, byte for byte as clients know it.

The standard library's `shlex.quote` would be as correct, but clients compare and parse the text
that Codex shows, which mixes three kinds of quotes.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

_UNQUOTED: Final = re.compile(r"[A-Za-z0-9+\-./:@\]_]+")
# A caret may only follow the opening quote: some versions of Bash take it for history otherwise.
_SINGLE: Final = re.compile(r"\^?[^'\\^]+|\^")
_DOUBLE: Final = re.compile(r"[^`$!^]+")


def join(argv: Sequence[str]) -> str:
    """Show a command line."""
    return " ".join(quote(word) for word in argv)


def quote(word: str) -> str:
    """Quote a word, in as few pieces as possible."""
    if not word:
        return "''"
    if _UNQUOTED.fullmatch(word):
        return word
    pieces: list[str] = []
    position = 0
    while position < len(word):
        single = _SINGLE.match(word, position)
        double = _DOUBLE.match(word, position)
        plain = _UNQUOTED.match(word, position)
        ends = [match.end() if match else position for match in (plain, single, double)]
        position_after = max(ends)
        chunk = word[position:position_after]
        if ends[0] == position_after:
            pieces.append(chunk)
        elif ends[1] == position_after:
            pieces.append(f"'{chunk}'")
        else:
            escaped = chunk.replace("\\", "\\\\").replace('"', '\\"')
            pieces.append(f'"{escaped}"')
        position = position_after
    return "".join(pieces)
