"""Which rules of a policy decided something, and which never did."""

from __future__ import annotations

import io
import json
from collections import Counter
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, NamedTuple

from ferrule_hookspecs.errors import FerruleError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ferrule_hookspecs.host import Host
    from ferrule_policy.replay import Outcome


class Coverage(NamedTuple):
    """How often each rule decided.

    Attributes:
        used: The rules that did, with how often.
        unused: The rules that never did.
    """

    used: dict[str, int]
    unused: list[str]


def coverage(host: Host, outcome: Outcome) -> Coverage | None:
    """Count what the rules of a home decided; None where no plugin lists any."""
    rules = _rules(host)
    if rules is None:
        return None
    named = Counter(
        name
        for decision in outcome.decisions
        if decision is not None
        for plugin, verdict in decision.verdicts.items()
        if plugin in decision.asked
        for name in _named(verdict.rule)
    )
    used = {rule: named[rule] for rule in rules if rule in named}
    return Coverage(used, [rule for rule in rules if rule not in used])


def _named(text: str) -> set[str]:
    """The rules an opinion was due to: one with its place, or several that allow."""
    return {text.rpartition(" (")[0], *text.split("; ")}


def _rules(host: Host) -> Sequence[str] | None:
    printed = io.StringIO()
    try:
        with redirect_stdout(printed):
            host.invoke("rules", ["list", "--json"])
        files = json.loads(printed.getvalue())["files"]
        return list(dict.fromkeys(str(rule) for file in files for rule in file["rules"]))
    except (FerruleError, ValueError, KeyError, TypeError):
        return None  # no rules plugin, or another one that lists nothing in this form
