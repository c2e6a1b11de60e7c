"""What `ferrule rules check` and `list` print."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, NamedTuple

from ferrule_rules.judgement import Judge
from ferrule_rules.opinion import Asked, verdict
from ferrule_rules.rule_set import strictest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ferrule_hookspecs.review import Verdict
    from ferrule_rules.judgement import Judgement
    from ferrule_rules.rule_set import Match
    from ferrule_rules.sources import Policy


class Answer(NamedTuple):
    """What is decided about a command.

    Attributes:
        matches: Rules that speak for the words as they stand.
        found: All that is known.
        verdict: What a session says where somebody can be asked.
    """

    matches: tuple[Match, ...]
    found: Judgement
    verdict: Verdict | None

    @classmethod
    def of(cls, words: Sequence[str], policy: Policy, *, resolve: bool) -> Answer:
        """Judge a script, where one word is given that is one, or an argument list."""
        judge = Judge(policy)
        is_script = len(words) == 1 and not words[0].isalnum()
        found = judge.script(words[0]) if is_script else judge.argv(words)
        lists = [one.command.argv for one in found.segments or ()] if is_script else [words]
        matches = [
            m for argv in lists for m in policy.rules.matches(argv, resolve=resolve or is_script)
        ]
        return cls(tuple(matches), found, verdict(found, policy, Asked("on-request")))

    @property
    def effective(self) -> str:
        """What a session does: allow, prompt, forbidden, or none where there is nothing to say."""
        if self.verdict is None:
            return "none"
        if self.verdict.decision == "allow":
            return "allow" if self.found.is_allowed else "none"
        return "prompt" if self.verdict.decision == "ask" else "forbidden"

    def json(self, *, is_pretty: bool = False) -> str:
        """Say all of it to programs; `matchedRules` and `decision` are as in `codex execpolicy`."""
        answer: dict[str, object] = {"matchedRules": [_matched(match) for match in self.matches]}
        if self.matches:
            answer["decision"] = strictest(match.rule.decision for match in self.matches)
        answer["effective"] = {
            "decision": self.effective,
            "reason": self.verdict.reason if self.verdict else "",
            "rule": self.verdict.rule if self.verdict else "",
        }
        answer["commands"] = [
            {"argv": list(command.argv), "runBy": list(command.wrapped_in)}
            for command in self.found.commands
        ]
        answer["restrictions"] = [
            {
                "rule": str(one.rule),
                "place": str(one.rule.place),
                "decision": one.decision,
                "argv": list(one.command.argv),
                "certain": one.is_certain,
            }
            for one in self.found.restrictions
        ]
        answer["dangers"] = [
            {
                "reason": one.danger.reason,
                "severity": one.danger.severity,
                "argv": list(one.command.argv),
            }
            for one in self.found.threats
        ]
        return json.dumps(answer, indent=2 if is_pretty else None, ensure_ascii=False)

    def text(self, *, explain: bool) -> str:
        """Say it to people."""
        said = {"allow": "allowed", "prompt": "asks", "forbidden": "forbidden", "none": "no rule"}
        reason = self.verdict.reason if self.verdict else ""
        lines = [f"{said[self.effective]}{f': {reason}' if reason else ''}"]
        if self.verdict and self.verdict.rule:
            lines.append(f"  by {self.verdict.rule}")
        return "\n".join([*lines, *(self._explanation() if explain else [])])

    def _explanation(self) -> list[str]:
        lines = ["what was found in it:"]
        for command in self.found.commands:
            words = " ".join("?" if word is None else shlex.quote(word) for word in command.argv)
            run_by = f"  (run by {' > '.join(command.wrapped_in)})" if command.wrapped_in else ""
            lines.append(f"  {words}{run_by}")
            lines += [
                f"    {one.decision} by `{one.rule}` ({one.rule.place})"
                + ("" if one.is_certain else ", for it may apply")
                for one in self.found.restrictions
                if one.command is command
            ]
            lines += [
                f"    dangerous: {one.danger.reason}"
                for one in self.found.threats
                if one.command is command
            ]
        if self.found.segments is None:
            lines.append("  no rule can allow it: not all of it is plain words joined by && || ; |")
        for one in self.found.segments or ():
            why = {
                "rule": f"allowed by `{one.match.rule}` ({one.match.rule.place})"
                if one.match
                else ""
            }
            state = why.get(one.standing) or (
                "only reads" if one.standing == "safe" else "no rule allows it"
            )
            lines.append(f"  {shlex.join(one.command.argv)}: {state}")
        return lines


def _matched(match: Match) -> dict[str, object]:
    shown: dict[str, object] = {
        "matchedPrefix": list(match.words),
        "decision": match.rule.decision,
    }
    if match.resolved:
        shown["resolvedProgram"] = match.resolved
    if match.rule.justification:
        shown["justification"] = match.rule.justification
    return {"prefixRuleMatch": shown}


def listing(policy: Policy) -> str:
    """List the rules of every file."""
    lines: list[str] = []
    for file in policy.files:
        lines.append(f"{file.path}")
        rules = [*file.usable().rules, *file.usable().network]
        lines += [f"  {rule}{_because(rule.justification)}" for rule in rules]
        lines += [f"  broken: {flaw.message} (line {flaw.line})" for flaw in file.flaws]
    lines += policy.notes
    return "\n".join(lines) or "there are no rules"


def _because(justification: str) -> str:
    return f"  ({justification})" if justification else ""


def listing_json(policy: Policy) -> str:
    """List the rules for programs."""
    files = [
        {
            "path": file.path,
            "rules": [str(rule) for rule in (*file.usable().rules, *file.usable().network)],
            "flaws": [flaw.summary for flaw in file.flaws],
        }
        for file in policy.files
    ]
    return json.dumps({"files": files, "notes": list(policy.notes)}, ensure_ascii=False)
