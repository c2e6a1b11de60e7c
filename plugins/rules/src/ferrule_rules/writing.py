"""Writes a rule in Starlark, so that it can stand beside what is there."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ferrule_rules.rule import Glob, NetworkRule, Rule, RuleError

if TYPE_CHECKING:
    from ferrule_rules.rule import Token


def starlark_rule(rule: Rule | NetworkRule) -> str:
    """Write a rule as a call.

    Raises:
        RuleError: Starlark files cannot say this.
    """
    if isinstance(rule, NetworkRule):
        if rule.ports or "*" in rule.host or not rule.protocol:
            raise RuleError(
                "a rule with ports, `*` or any protocol needs a file of plain lines; "
                "put it into one of your own in $FERRULE_HOME/rules"
            )
        return _call(
            "network_rule",
            host=rule.host,
            protocol=rule.protocol,
            decision=rule.decision,
            justification=rule.justification,
        )
    pattern = ", ".join(map(_token, rule.pattern))
    options = _options(
        justification=rule.justification,
        reviewer=rule.reviewer,
        args=list(rule.arguments) if rule.arguments is not None else None,
        writes=list(rule.writes) if rule.writes is not None else None,
    )
    name = "exact_rule" if rule.is_exact else "prefix_rule"
    if rule.is_exact and rule.arguments is not None:
        raise RuleError("an exact rule leaves no room for args:")
    return f'{name}(pattern=[{pattern}], decision="{rule.decision}"{options})'


def _token(token: Token) -> str:
    if isinstance(token, Glob):
        return f"glob({_value(token.text)})"
    words = sorted(token)
    return _value(words[0]) if len(words) == 1 else _value(words)


def _call(name: str, **values: object) -> str:
    return f"{name}({_options(**values).removeprefix(', ')})"


def _options(**values: object) -> str:
    return "".join(
        f", {name}={_value(value)}" for name, value in values.items() if value not in (None, "")
    )


def _value(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
