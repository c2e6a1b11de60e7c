"""Parts of an argument list: its flags however they are written, and its operands."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ferrule_rules.reading import Word

_CLUSTER: Final = re.compile(r"-[A-Za-z0-9]+")
LONG_FORMS: Final[Mapping[str, Mapping[str, str]]] = {
    "rm": {"--recursive": "r", "--force": "f", "--interactive": "i", "--dir": "d"},
    "cp": {"--recursive": "r", "--force": "f"},
    "mv": {"--force": "f"},
    "chmod": {"--recursive": "R"},
    "chown": {"--recursive": "R"},
    "git": {"--force": "f", "--delete": "d", "--all": "a", "--amend": "A"},
    "sed": {"--in-place": "i"},
    "docker": {"--force": "f", "--all": "a"},
}
"""Long options with the letter that means the same."""


class Parts(NamedTuple):
    """What an argument list is made of, program left out.

    Attributes:
        letters: Letters of all short flags, `-rf` counting as two; long forms count, too.
        long: Long options without their values, and clusters as they stand.
        operands: The words that are no options; None for an unknown one.
        has_unknown: Whether a word is unknown, so that it may be a flag.
    """

    letters: frozenset[str]
    long: frozenset[str]
    operands: tuple[Word, ...]
    has_unknown: bool

    def has(self, *options: str) -> bool:
        """Whether one of some options is given."""
        return any(
            option in self.long or (len(option) == 2 and option[1] in self.letters)
            for option in options
        )


def parts_of(name: str, words: Sequence[Word]) -> Parts:
    """Take the words after a program apart."""
    letters: set[str] = set()
    long: set[str] = set()
    operands: list[Word] = []
    forms = LONG_FORMS.get(name, {})
    for at, word in enumerate(words):
        if word == "--":
            operands += words[at + 1 :]
            break
        if word is None or not word.startswith("-") or word == "-":
            operands.append(word)
            continue
        option = word.partition("=")[0]
        long.add(option)
        if _CLUSTER.fullmatch(word):
            letters.update(word[1:])
        if option in forms:
            letters.add(forms[option])
    return Parts(frozenset(letters), frozenset(long), tuple(operands), None in words)
