"""Files that a script writes and runs, and programs that it gives another name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from ferrule_rules.code_calls import CODE_READERS
from ferrule_rules.printing import printed_by
from ferrule_rules.reading import SHELLS
from ferrule_rules.wrappers import program

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ferrule_rules.reading import FoundCommand, Word

_COPIERS: Final = frozenset({"cp", "ln", "mv", "install", "cat"})
_RUNNERS: Final = SHELLS | CODE_READERS | {"source", ".", "make", "gmake"}
_MOST: Final = 50
_HASH_WORDS: Final = 4
_FIRST_LINE: Final = re.compile(r"#!\s*(?:\S*/env\s+(?:-S\s+)?)?(\S+)")


class Run(NamedTuple):
    """A text that a program runs."""

    runner: str
    text: str


class WrittenFiles:
    """Remembers what a script wrote where."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def note(self, target: Word, text: Word) -> None:
        """Remember that a text went to a file."""
        if target and text and len(self._texts) < _MOST:
            name = program(target)
            self._texts[name] = "\n".join(filter(None, (self._texts.get(name), text)))

    def runs(self, commands: Sequence[FoundCommand]) -> Iterator[Run]:
        """Find what of it is run."""
        for command in commands:
            for redirect in command.redirects:
                self.note(redirect.target, printed_by(command.argv))
        if not self._texts:
            return
        for command in commands:
            name = program(command.argv[0])
            if name in self._texts:
                text = self._texts[name]
                found = _FIRST_LINE.match(text)
                yield Run(program(found[1]) if found else "sh", text)
            elif name in _RUNNERS:
                named = {program(word) for word in command.argv[1:] if word}
                yield from (Run(name, self._texts[file]) for file in named & self._texts.keys())


def renamed(commands: Sequence[FoundCommand]) -> Iterator[FoundCommand]:
    """Find commands whose program was copied, linked or moved from another."""
    names: dict[str, str] = {}
    for command in commands:
        for source, target in _copied(command):
            if source and target and program(source) != program(target):
                names[program(target)] = source
    for command in commands if names else ():
        source = names.get(program(command.argv[0]))
        if source is not None:
            yield command._replace(argv=(source, *command.argv[1:]))


def _copied(command: FoundCommand) -> Iterator[tuple[Word, Word]]:
    words = command.argv[1:]
    name = program(command.argv[0])
    if name == "dd":
        named = dict(word.split("=", 1) for word in words if word and "=" in word)
        yield named.get("if"), named.get("of")
    elif name == "hash" and len(words) + 1 >= _HASH_WORDS and words[0] == "-p":
        yield words[1], words[2]
    elif name in _COPIERS:
        operands = [word for word in words if word is None or not word.startswith("-")]
        targets = [one.target for one in command.redirects] or operands[1:]
        for target in targets[-1:] if operands else ():
            yield operands[0], target
