"""Whether a rule that asks or forbids speaks for a command, however its words are written.

Options between the program and its sub-command are passed over (`git -C x push`), flags may be
bundled, split, long or further back (`rm -r -f`), the program may be given with its folder, and a
word that cannot be known may be the one that the rule names.
"""

from __future__ import annotations

import fnmatch
import re
from typing import TYPE_CHECKING, Final, Literal

from ferrule_rules.command_line import LONG_FORMS, parts_of
from ferrule_rules.reading import UNKNOWN, GlobWord, Word
from ferrule_rules.rule import Glob, Rule, Token
from ferrule_rules.wrappers import program

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ferrule_rules.command_line import Parts
    from ferrule_rules.rule_set import RuleSet

Fit = Literal["yes", "maybe", "no"]
_CLUSTER: Final = re.compile(r"-[A-Za-z]+")


def loose_matches(rules: RuleSet, argv: Sequence[Word]) -> Iterator[tuple[Rule, bool]]:
    """Find rules that ask or forbid, and whether each certainly applies."""
    if not argv:
        return
    first = argv[0]
    if first is None or isinstance(first, GlobWord):
        yield from _of_unknown_program(rules, argv)
        return
    name = program(first)
    candidates = [*rules.of_program(first)]
    if name != first:
        candidates += rules.of_program(name)
    for rule in candidates:
        if rule.decision != "allow":
            fit = _fit(rule, name, argv)
            if fit != "no":
                yield rule, fit == "yes"


def _of_unknown_program(rules: RuleSet, argv: Sequence[Word]) -> Iterator[tuple[Rule, bool]]:
    """A program that cannot be known may be any; a rule with more words must still fit them."""
    first = argv[0]
    is_any = tuple(argv[: len(UNKNOWN)]) == UNKNOWN
    for rule in rules.restricting():
        if is_any:
            yield rule, False
            continue
        if first is not None and not _globbed(first, rule.pattern[0]):
            continue
        if _fit(rule, "", argv) != "no":
            yield rule, False


def _globbed(word: str, token: Token) -> bool:
    if isinstance(token, Glob):
        return True
    name = program(word)
    return any(fnmatch.fnmatchcase(program(text), name) for text in token)


def _fit(rule: Rule, name: str, argv: Sequence[Word]) -> Fit:
    rest = argv[1:]
    if rule.is_exact:
        tokens = rule.pattern[1:]
        if len(tokens) != len(rest):
            return "no"
        return _worst(_word_fit(t, w) for t, w in zip(tokens, rest, strict=True))
    return _worst((_pattern_fit(rule.pattern[1:], name, rest), _arguments_fit(rule, rest)))


def _pattern_fit(tokens: Sequence[Token], name: str, rest: Sequence[Word]) -> Fit:
    if not tokens:
        return "yes"
    straight = _worst(_word_fit(t, w) for t, w in zip(tokens, rest, strict=False))
    if len(rest) >= len(tokens) and straight == "yes":
        return "yes"
    parts = parts_of(name, rest)
    flags = [token for token in tokens if _is_flag(token)]
    operands = [token for token in tokens if not _is_flag(token)]
    fits: list[Fit] = [_flag_fit(token, name, parts) for token in flags]
    fits.append(_operand_fit(operands, rest))
    return _worst(fits)


def _is_flag(token: Token) -> bool:
    texts = (token.text,) if isinstance(token, Glob) else token
    return all(text.startswith("-") and text not in ("-", "--") for text in texts)


def _flag_fit(token: Token, name: str, parts: Parts) -> Fit:
    if isinstance(token, Glob):
        fits = any(token.accepts(option) for option in parts.long)
    else:
        fits = any(_has_flag(text, name, parts) for text in token)
    return "yes" if fits else "maybe" if parts.has_unknown else "no"


def _has_flag(text: str, name: str, parts: Parts) -> bool:
    if text.partition("=")[0] in parts.long:
        return True
    letter = LONG_FORMS.get(name, {}).get(text)
    wanted = letter or (text[1:] if _CLUSTER.fullmatch(text) else "")
    have = {c.lower() for c in parts.letters} if name == "rm" else parts.letters
    wanted = wanted.lower() if name == "rm" else wanted
    return bool(wanted) and set(wanted) <= have


def _operand_fit(tokens: Sequence[Token], words: Sequence[Word]) -> Fit:
    """Find the tokens in order; only flags, and words that may be their values, are passed over."""
    found: Fit = "yes"
    at = 0
    after_flag = False
    for word in words:
        if at == len(tokens):
            break
        if word is not None and word.startswith("-") and word != "-":
            after_flag = "=" not in word and word != "--"
            continue
        fit = _word_fit(tokens[at], word)
        if fit == "no" and not after_flag:
            return "no"
        if fit != "no":
            found = _worst((found, fit))
            at += 1
        after_flag = False
    return found if at == len(tokens) else "no"


def _word_fit(token: Token, word: Word) -> Fit:
    if word is None:
        return "maybe"
    if token.accepts(word) if isinstance(token, Glob) else word in token:
        return "yes"
    return "maybe" if isinstance(word, GlobWord) and _globbed(word, token) else "no"


def _arguments_fit(rule: Rule, rest: Sequence[Word]) -> Fit:
    if rule.arguments is None:
        return "yes"
    known = [word for word in rest if word is not None]
    if any(Glob(pattern).accepts(word) for pattern in rule.arguments for word in known):
        return "yes"
    return "maybe" if len(known) < len(rest) else "no"


def _worst(fits: Iterable[Fit]) -> Fit:
    seen = set(fits)
    return "no" if "no" in seen else "maybe" if "maybe" in seen else "yes"
