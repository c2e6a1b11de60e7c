"""One rule, whatever language it was written in, and whether it speaks for an argument list."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from ferrule_hookspecs.errors import FerruleError

if TYPE_CHECKING:
    from collections.abc import Sequence

Decision = Literal["allow", "prompt", "forbidden"]
DECISIONS: Final[tuple[Decision, ...]] = ("allow", "prompt", "forbidden")
PROTOCOLS: Final = {
    "http": "http",
    "https": "https",
    "https_connect": "https",
    "http-connect": "https",
    "socks5_tcp": "socks5_tcp",
    "socks5_udp": "socks5_udp",
}


class RuleError(FerruleError):
    """A rule cannot be used; the message says why."""


class Place(NamedTuple):
    """Where a rule stands; the line is 0 where it is not known."""

    file: str
    line: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file


NOWHERE: Final = Place("")


class Glob(NamedTuple):
    """A pattern for one word, in which `*` stands for any text and `?` for any letter."""

    text: str

    def accepts(self, word: str) -> bool:
        """Whether the pattern speaks for a word."""
        return _word_pattern(self.text).fullmatch(word) is not None


Token = frozenset[str] | Glob
"""One place of a pattern: the words it may hold."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule about commands that begin with certain words.

    Attributes:
        pattern: What the command begins with, program first.
        decision: What is decided for such a command.
        is_exact: The command must end with the pattern.
        justification: Why, for whoever is asked or refused.
        reviewer: Who must answer; `user` is a person.
        arguments: Patterns of the words that follow. An allowing rule wants every one of them to
            fit; the others apply as soon as one fits. None leaves them free.
        writes: Patterns of files that output may be redirected to. An allowing rule wants every
            target to fit; the others apply only where one fits. None: an allowing rule covers no
            redirection to a file, the others do not look.
        place: Where the rule stands.
    """

    pattern: tuple[Token, ...]
    decision: Decision = "allow"
    is_exact: bool = False
    justification: str = ""
    reviewer: str = ""
    arguments: tuple[str, ...] | None = None
    writes: tuple[str, ...] | None = None
    place: Place = NOWHERE

    def covers(self, argv: Sequence[str]) -> bool:
        """Whether an argument list begins with the pattern, word for word."""
        pattern = self.pattern
        size = len(pattern)
        if len(argv) < size or (self.is_exact and len(argv) != size):
            return False
        for token, word in zip(pattern, argv, strict=False):
            if not (token.accepts(word) if isinstance(token, Glob) else word in token):
                return False
        return self.arguments is None or self._arguments_fit(argv[size:])

    def _arguments_fit(self, words: Sequence[str]) -> bool:
        fits = (fits_any(self.arguments or (), word) for word in words)
        return all(fits) if self.decision == "allow" else any(fits)

    def covers_writes(self, targets: Sequence[str | None]) -> bool:
        """Whether the rule speaks for a command whose output goes to these files."""
        if self.decision == "allow":
            real = [target for target in targets if target not in HARMLESS_TARGETS]
            return all(_is_within(self.writes or (), target) for target in real)
        if self.writes is None:
            return True
        return any(target is None or _may_fit(self.writes, target) for target in targets)

    @property
    def words(self) -> tuple[str, ...]:
        """The pattern as words to show."""
        return tuple(
            token.text if isinstance(token, Glob) else "|".join(sorted(token))
            for token in self.pattern
        )

    def __str__(self) -> str:
        kind = "exact" if self.is_exact else "prefix"
        return f"{self.decision} {kind} {' '.join(self.words)}"


@dataclass(frozen=True, slots=True)
class NetworkRule:
    """A rule about a host; `*.example.com` speaks for every host below it, `*` for any."""

    host: str
    decision: Decision
    protocol: str = ""
    ports: tuple[int, ...] = ()
    justification: str = ""
    place: Place = NOWHERE

    def __str__(self) -> str:
        protocol = f" protocol:{self.protocol}" if self.protocol else ""
        ports = f" port:{','.join(map(str, self.ports))}" if self.ports else ""
        return f"{self.decision} network{protocol} host:{self.host}{ports}"


HARMLESS_TARGETS: Final = frozenset(
    {"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/fd/1", "/dev/fd/2"}
)


def fits_any(patterns: Sequence[str], word: str) -> bool:
    """Whether one of some patterns fits a word."""
    return any(_word_pattern(pattern).fullmatch(word) for pattern in patterns)


def _is_within(patterns: Sequence[str], target: str | None) -> bool:
    """Whether a file is certainly one of those meant; `..` may lead anywhere."""
    if target is None or ".." in target.split("/"):
        return False
    return any(_path_pattern(pattern).fullmatch(_tidy(target)) for pattern in patterns)


def _may_fit(patterns: Sequence[str], target: str) -> bool:
    if ".." in target.split("/"):
        return True
    return any(_path_pattern(pattern).fullmatch(_tidy(target)) for pattern in patterns)


def _tidy(path: str) -> str:
    return re.sub(r"(?:^|(?<=/))(?:\./+)+", "", re.sub(r"/{2,}", "/", path))


@lru_cache(maxsize=4096)
def _word_pattern(text: str) -> re.Pattern[str]:
    parts = (".*" if c == "*" else "." if c == "?" else re.escape(c) for c in text)
    return re.compile("".join(parts), re.S)


@lru_cache(maxsize=4096)
def _path_pattern(text: str) -> re.Pattern[str]:
    """In paths `*` stays in one folder and `**` does not."""
    parts = re.split(r"(\*\*|\*|\?)", _tidy(text))
    forms = {"**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.compile("".join(forms.get(part) or re.escape(part) for part in parts), re.S)
