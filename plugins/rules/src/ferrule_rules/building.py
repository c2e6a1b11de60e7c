"""Makes rules from what the front ends read: checks every part and says what is wrong with it."""

from __future__ import annotations

import ipaddress
import re
import shlex
from typing import TYPE_CHECKING, Final, cast

from ferrule_rules.rule import (
    DECISIONS,
    PROTOCOLS,
    Decision,
    Glob,
    NetworkRule,
    Place,
    Rule,
    RuleError,
    Token,
)
from ferrule_rules.rule_set import RuleSet

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_HOST: Final = re.compile(r"[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?")
_REVIEWERS: Final = ("user", "auto_review")


def pattern_of(value: object) -> tuple[Token, ...]:
    """Check a pattern: a list of words, of lists of words, and of `glob(…)`."""
    if not isinstance(value, (list, tuple)) or not value:
        raise RuleError("the pattern must be a list with at least one word")
    return tuple(_token(part) for part in cast("Sequence[object]", value))


def _token(value: object) -> Token:
    if isinstance(value, str):
        return frozenset((value,))
    if isinstance(value, dict) and set(cast("dict[str, object]", value)) == {"glob"}:
        return Glob(str(cast("Mapping[str, object]", value)["glob"]))
    if not isinstance(value, (list, tuple)):
        raise RuleError(f"a pattern holds words and lists of words, not {value!r}")
    words = cast("Sequence[object]", value)
    if not words or not all(isinstance(word, str) for word in words):
        raise RuleError(f"alternatives must be a list of at least one word, not {value!r}")
    return frozenset(cast("Sequence[str]", words))


def decision_of(value: object, *, is_network: bool = False) -> Decision:
    """Check a decision; `deny` is another word for forbidden in rules about hosts."""
    if is_network and value == "deny":
        return "forbidden"
    if value not in DECISIONS:
        raise RuleError(f"the decision must be one of {', '.join(DECISIONS)}, not {value!r}")
    return cast("Decision", value)


def justification_of(value: object) -> str:
    """Check a justification."""
    if value is None:
        return ""
    if not isinstance(value, str) or not value.strip():
        raise RuleError("the justification must be a text that is not blank")
    return value


def reviewer_of(value: object) -> str:
    """Check a reviewer; the configured one needs no mention."""
    if value is None:
        return ""
    if value not in _REVIEWERS:
        raise RuleError(f"the reviewer must be one of {', '.join(_REVIEWERS)}, not {value!r}")
    return "user" if value == "user" else ""


def globs_of(value: object, name: str) -> tuple[str, ...] | None:
    """Check a list of word patterns."""
    if value is None:
        return None
    if not isinstance(value, (list, tuple)):
        raise RuleError(f"{name} must be a list of patterns such as ['src/*']")
    words = cast("Sequence[object]", value)
    if not all(isinstance(word, str) for word in words):
        raise RuleError(f"{name} must be a list of patterns such as ['src/*']")
    return tuple(cast("Sequence[str]", words))


def network_rule(
    host: object, protocol: object, decision: object, justification: object, place: Place
) -> NetworkRule:
    """Make a rule about one host, as Starlark files write it."""
    if protocol not in PROTOCOLS:
        raise RuleError(f"the protocol must be one of {', '.join(PROTOCOLS)}, not {protocol!r}")
    return NetworkRule(
        exact_host(host),
        decision_of(decision, is_network=True),
        PROTOCOLS[cast("str", protocol)],
        (),
        justification_of(justification),
        place,
    )


def exact_host(value: object) -> str:
    """Check the name or the address of one host; a port is dropped."""
    text = value.strip().lower() if isinstance(value, str) else ""
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    text = text.removesuffix(".")
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        if not _HOST.fullmatch(text):
            raise RuleError(f"the host must be a name or an address, not {value!r}") from None
        return text


def check_examples(rule: Rule, examples: object, *, wanted: bool, rules: RuleSet) -> None:
    """Try a rule on its examples.

    Raises:
        RuleError: An example is wrong, or cannot be read.
    """
    if examples is None:
        return
    if not isinstance(examples, (list, tuple)):
        raise RuleError("examples must be a list of commands")
    alone = RuleSet()
    alone.add(rule)
    alone.hosts.update(rules.hosts)
    for example in cast("Sequence[object]", examples):
        argv = _example(example)
        if bool(alone.matches(argv, resolve=True)) != wanted:
            shown = shlex.join(argv)
            raise RuleError(
                f"the rule `{rule}` should {'' if wanted else 'not '}match `{shown}`, and it does"
                f"{' not' if wanted else ''}"
            )


def _example(value: object) -> list[str]:
    if isinstance(value, str):
        try:
            argv = shlex.split(value)
        except ValueError as error:
            raise RuleError(f"the example {value!r} cannot be read: {error}") from None
    elif isinstance(value, (list, tuple)) and all(
        isinstance(word, str) for word in cast("Sequence[object]", value)
    ):
        argv = list(cast("Sequence[str]", value))
    else:
        raise RuleError(f"an example is a command or a list of words, not {value!r}")
    if not argv:
        raise RuleError("an example must not be empty")
    return argv
