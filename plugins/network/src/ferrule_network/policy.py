"""What is decided about a target: the strictest rule that speaks for it, and no without any."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ferrule_network.rule import STRICTNESS, Decision, NetworkRule, Target


class Judgement(NamedTuple):
    """What is decided, and why.

    Attributes:
        decision: allow connects, ask needs an answer, deny refuses.
        rule: The rule that decides; empty where there is none.
        why: The reason and the mend, as the end of a sentence.
        kind: A word for programs: `allowlist` without a rule, `denylist` with one, `ask`, or
            `address` for what no rule may open.
    """

    decision: Decision
    rule: str
    why: str
    kind: str = "allowlist"


@dataclass(frozen=True, slots=True)
class Policy:
    """All rules that count; their order does not matter.

    Attributes:
        rules: The rules.
        flaws: Why files that may restrict could not be read; with any, what is allowed is asked.
        unknown: What is decided where no rule speaks: deny or ask.
        bounds: Hosts beyond which nothing is opened, whatever rules and answers say; None for no
            bounds.
    """

    rules: tuple[NetworkRule, ...] = ()
    flaws: tuple[str, ...] = ()
    unknown: Decision = "deny"
    bounds: tuple[NetworkRule, ...] | None = None

    def judge(self, target: Target) -> Judgement:
        """Decide about a target."""
        if self.bounds is not None and not any(bound.names(target.host) for bound in self.bounds):
            why = (
                "it lies outside of `only_hosts` and `only_presets` of [network], which bound what"
                " may be reached; only whoever set them opens it"
            )
            return Judgement("deny", "", why, "denylist")
        rule = max(
            (rule for rule in self.rules if rule.covers(target)),
            key=lambda rule: STRICTNESS[rule.decision],
            default=None,
        )
        if rule is None:
            if self.unknown == "ask":
                return Judgement("ask", "", "no rule speaks for it", "ask")
            if blind := next((each for each in self.rules if each.is_blind_to(target)), None):
                return Judgement("deny", "", f"no rule allows it: {_blindness(blind)}")
            mend = f"to allow it, add {target.rule_text!r} to `rules` of [network] in config.toml"
            return Judgement("deny", "", f"no rule allows it; {mend}")
        if rule.decision == "allow" and self.flaws:
            return Judgement("ask", str(rule), f"it needs approval, because {self.flaws[0]}", "ask")
        where = f"the rule {str(rule)!r} of {rule.place}" if rule.place else f"the rule {rule!s}"
        reason = f": {rule.reason}" if rule.reason else ""
        if rule.decision == "deny":
            why = f"{where} denies it{reason}; only a change of that rule allows it"
            return Judgement("deny", str(rule), why, "denylist")
        if rule.decision == "ask":
            return Judgement("ask", str(rule), f"{where} wants approval{reason}", "ask")
        return Judgement("allow", str(rule), f"{where} allows it{reason}")


def _blindness(rule: NetworkRule) -> str:
    return (
        f"{str(rule)!r} of {rule.place} speaks of methods or paths, which are not seen in a tunnel;"
        " add the host to `intercept` of [network.tls] in config.toml"
    )
