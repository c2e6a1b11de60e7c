"""The administrator's rules in `requirements.toml`."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, cast

from ferrule_rules.building import decision_of, justification_of
from ferrule_rules.rule import Place, Rule, RuleError, Token
from ferrule_rules.rule_file import Flaw, RuleFile

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def read_required(path: str, text: str) -> RuleFile:
    """Read the table `rules`; whatever is wrong with it counts as a rule that may forbid."""
    found = RuleFile(path)
    place = Place(path)
    try:
        rules = cast("Mapping[str, object]", tomllib.loads(text).get("rules", {}))
        for entry in cast("Sequence[Mapping[str, object]]", rules.get("prefix_rules", ())):
            found.rules.add(
                Rule(
                    _pattern(entry),
                    decision_of(entry.get("decision")),
                    justification=justification_of(entry.get("justification")),
                    place=place,
                )
            )
    except (RuleError, tomllib.TOMLDecodeError, AttributeError, TypeError) as error:
        found.flaws.append(Flaw(path, 1, 1, f"[rules] cannot be read: {error}"))
    return found


def _pattern(entry: Mapping[str, object]) -> tuple[Token, ...]:
    parts = cast("Sequence[Mapping[str, object]]", entry.get("pattern") or ())
    if not parts:
        raise RuleError("a rule has no pattern")
    return tuple(_token(part) for part in parts)


def _token(part: Mapping[str, object]) -> Token:
    words = part.get("any_of") or [part.get("token")]
    if not isinstance(words, list) or not all(
        isinstance(word, str) for word in cast("list[object]", words)
    ):
        raise RuleError(f"a word of a pattern is a token or any_of, not {part!r}")
    return frozenset(cast("list[str]", words))
