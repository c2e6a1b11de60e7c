"""Words of the shell: what quoting and escapes stand for."""

from __future__ import annotations

import re
from typing import Final

_ESCAPE: Final = re.compile(r"\\(\n|.)", re.S)
_QUOTED_ESCAPE: Final = re.compile(r"\\([$`\"\\\n])")
_ANSI_ESCAPE: Final = re.compile(
    r"\\(x[0-9A-Fa-f]{1,2}|u[0-9A-Fa-f]{1,4}|U[0-9A-Fa-f]{1,8}|[0-7]{1,3}|c.|.)", re.S
)
_ANSI_LETTERS: Final = {
    "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t",
    "v": "\v",
}  # fmt: skip
_MOST_BRACES: Final = 64
_LONGEST_BRACES: Final = 2000
_BRACES: Final = re.compile(r"(?<![$\\])\{([^{}]*,[^{}]*)\}")


SUBSCRIPT: Final = re.compile(r"\w\[.*?(?:\$\(|`)", re.S)
"""What runs a command where a word is taken for a variable or a number, quoted or not."""


def unescaped(text: str, *, in_quotes: bool = False) -> str:
    """Undo backslashes of a word, or of text in double quotes."""
    if "\\" not in text:
        return text
    escape = _QUOTED_ESCAPE if in_quotes else _ESCAPE
    return escape.sub(lambda found: "" if found[1] == "\n" else found[1], text)


def ansi_c_text(text: str) -> str:
    r"""Undo the escapes of `$'…'`."""
    return _ANSI_ESCAPE.sub(_ansi_character, text)


def _ansi_character(found: re.Match[str]) -> str:
    escape = found[1]
    if escape[0] in "xuU" and len(escape) > 1:
        code = int(escape[1:], 16)
        return chr(code) if code <= 0x10FFFF else ""
    if escape[0] in "01234567":
        return chr(int(escape, 8) & 0xFF)
    if escape[0] == "c" and len(escape) > 1:
        return chr(ord(escape[1]) & 0x1F)
    return _ANSI_LETTERS.get(escape, escape)


def brace_texts(text: str) -> list[str]:
    """Expand braces with commas, such as `r{m,x}`; text without them comes back alone.

    What would give too many words is not expanded as a whole.
    """
    if len(text) > _LONGEST_BRACES:
        return [text]
    done: list[str] = []
    waiting = [text]
    while waiting:
        current = waiting.pop()
        found = _BRACES.search(current)
        if found is None or len(done) + len(waiting) > _MOST_BRACES:
            done.append(current)
            continue
        before, after = current[: found.start()], current[found.end() :]
        waiting += [f"{before}{part}{after}" for part in reversed(found[1].split(","))]
    return done
