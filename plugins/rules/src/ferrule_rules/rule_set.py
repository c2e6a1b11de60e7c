"""All rules together: indexed by program, the strictest wins, whatever the order of the files."""

from __future__ import annotations

import itertools
import os.path
from typing import TYPE_CHECKING, Final, NamedTuple

from ferrule_rules.rule import Decision, Glob, NetworkRule, Place, Rule, RuleError, Token

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

_STRICTNESS: Final[Mapping[Decision, int]] = {"allow": 0, "prompt": 1, "forbidden": 2}
_MOST_VARIANTS: Final = 64
_NONE: Final[tuple[Rule, ...]] = ()


class Match(NamedTuple):
    """A rule that speaks for a command.

    Attributes:
        rule: The rule.
        words: The words of the command that the rule's pattern stands for.
        resolved: The program's path, where the rule names only its last part.
        is_certain: Whether the rule certainly applies; else a word is not known.
    """

    rule: Rule
    words: tuple[str, ...]
    resolved: str = ""
    is_certain: bool = True


def strictest(decisions: Iterable[Decision]) -> Decision | None:
    """Return the strictest of some decisions; None of none."""
    return max(decisions, key=_STRICTNESS.__getitem__, default=None)


class RuleSet:
    """Rules of any number of files."""

    def __init__(self) -> None:
        self.rules: list[Rule] = []
        self.network: list[NetworkRule] = []
        self.hosts: dict[str, tuple[str, ...]] = {}
        self._by_program: dict[str, list[Rule]] = {}
        self._any_program: list[Rule] = []
        # Patterns of nothing but words, alternatives written out, and how long they are by program.
        self._by_words: dict[tuple[str, ...], list[Rule]] = {}
        self._sizes: dict[str, set[int]] = {}
        self._others: dict[str, list[Rule]] = {}
        self._order: dict[int, int] = {}

    def add(self, rule: Rule) -> None:
        """Take a rule in."""
        self._order[id(rule)] = len(self.rules)
        self.rules.append(rule)
        first = rule.pattern[0]
        if isinstance(first, Glob):
            self._any_program.append(rule)
            return
        variants = _variants(rule.pattern)
        for word in first:
            self._by_program.setdefault(word, []).append(rule)
            if variants:
                self._sizes.setdefault(word, set()).add(len(rule.pattern))
            else:
                self._others.setdefault(word, []).append(rule)
        for words in variants:
            self._by_words.setdefault(words, []).append(rule)

    def merge(self, other: RuleSet) -> None:
        """Take all rules of another set in."""
        for rule in other.rules:
            self.add(rule)
        self.network += other.network
        self.hosts.update(other.hosts)

    def of_program(self, word: str) -> Sequence[Rule]:
        """The rules that may speak for a command that begins with a word."""
        found = self._by_program.get(word, _NONE)
        return found if not self._any_program else (*found, *self._any_program)

    def matches(self, argv: Sequence[str], *, resolve: bool = False) -> list[Match]:
        """Find the rules that speak for an argument list word for word.

        Args:
            argv: The argument list.
            resolve: Let a rule about a program's name speak for its absolute path, too.
        """
        if not argv:
            return []
        first = argv[0]
        found = self._covering(tuple(argv))
        if found or not resolve or not first.startswith("/"):
            return found
        path = os.path.normpath(first)
        name = os.path.basename(path)
        if name in self.hosts and path not in self.hosts[name]:
            return []
        words = (name, *argv[1:])
        return self._covering(words, path)

    def _covering(self, argv: tuple[str, ...], resolved: str = "") -> list[Match]:
        first = argv[0]
        found: list[Rule] = []
        for size in self._sizes.get(first, ()):
            if size > len(argv):
                continue
            for rule in self._by_words.get(argv[:size], ()):
                if (not rule.is_exact and rule.arguments is None) or rule.covers(argv):
                    found.append(rule)  # noqa: PERF401 -- a comprehension here is slower to read
        for rules in (self._others.get(first, ()), self._any_program):
            found += [rule for rule in rules if rule.covers(argv)]
        if len(found) > 1:
            found.sort(key=lambda rule: self._order[id(rule)])
        return [Match(rule, argv[: len(rule.pattern)], resolved) for rule in found]

    def restricting(self) -> Iterator[Rule]:
        """The rules that ask or forbid."""
        return (rule for rule in self.rules if rule.decision != "allow")


def _variants(pattern: Sequence[Token]) -> list[tuple[str, ...]]:
    """All word lists that a pattern stands for; none where there are wildcards or too many."""
    count = 1
    for token in pattern:
        if isinstance(token, Glob):
            return []
        count *= len(token)
    if count > _MOST_VARIANTS:
        return []
    return list(itertools.product(*(token for token in pattern if not isinstance(token, Glob))))


def host_paths(name: str, paths: Sequence[str], place: Place) -> tuple[str, ...]:
    """Check where a program may lie.

    Raises:
        RuleError: A path is not one of that program.
    """
    if not name or "/" in name:
        raise RuleError(f"{place}: a program's name is wanted, without a folder, not {name!r}")
    for path in paths:
        if not path.startswith("/"):
            raise RuleError(f"{place}: {path!r} is not an absolute path")
        if os.path.basename(path) != name:
            raise RuleError(f"{place}: {path!r} does not end with {name!r}")
    return tuple(os.path.normpath(path) for path in paths)
