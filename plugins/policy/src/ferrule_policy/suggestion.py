"""Finds the fewest prefix rules that would have spared the most questions.

A greedy set cover over the plain commands of what was asked. What a person declined, what was
refused and what is held for dangerous bars every prefix it begins with; and what is found is tried
out in a replay, before it is proposed.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from ferrule_policy.action import command_call
from ferrule_policy.prefixes import Words, prefixes, segments
from ferrule_policy.replay import Policy, replayed

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ferrule_policy.action import Action
    from ferrule_policy.redecision import Redecision

_FILE: Final = "suggested-by-replay.rules"


class Suggestion(NamedTuple):
    """What is proposed.

    Attributes:
        rules: The prefixes with how many questions each would have spared, the best first.
        asked: How many questions there would be without.
        spared: How many of them the rules spare.
    """

    rules: Sequence[tuple[Words, int]]
    asked: int
    spared: int

    @property
    def lines(self) -> list[str]:
        """As `ferrule rules add` takes them."""
        return [_line(words) for words, _ in self.rules]


class _Question(NamedTuple):
    """A question that rules could spare: the commands in it that no rule allows yet."""

    number: int
    commands: frozenset[Words]


def suggested(policy: Policy, actions: Sequence[Action], most: int) -> Suggestion:
    """Find the rules."""
    actions = list(actions)
    now = replayed(policy, actions).decisions
    asked = [n for n, found in enumerate(now) if found is not None and found.decision == "ask"]
    barred = [n for n in range(len(actions)) if _is_barred(actions[n], now[n])]
    taboo = {prefix for n in barred for prefix in _all_prefixes(actions[n].script)}
    questions = _questions(policy, actions, sorted(set(asked) - set(barred)))
    chosen = _cover(questions, taboo, most)
    while chosen:
        tried = _tried(policy, actions, chosen)
        opened = [n for n in barred if _opens(now[n], tried[n])]
        if not opened:
            spared = [n for n in asked if (found := tried[n]) and found.decision == "allow"]
            return Suggestion(_counted(chosen, questions, spared), len(asked), len(spared))
        taboo |= {words for words in chosen if any(_holds(actions[n], words) for n in opened)}
        kept = _cover(questions, taboo, most)
        if kept == chosen:  # the policy's own reading differs from ours: nothing is proposed
            break
        chosen = kept
    return Suggestion((), len(asked), 0)


def _is_barred(action: Action, found: Redecision | None) -> bool:
    return action.recorded.was_declined or found is None or found.is_dangerous


def _opens(before: Redecision | None, after: Redecision | None) -> bool:
    """Whether something comes to be allowed that was not."""
    was_allowed = before is not None and before.decision == "allow"
    return after is not None and after.decision == "allow" and not was_allowed


def _all_prefixes(script: str) -> Iterable[Words]:
    """Every beginning of every command in a script; of one that is not plain, of its words."""
    for words in segments(script) or [tuple(script.split())]:
        for length in range(1, len(words) + 1):
            yield words[:length]


def _holds(action: Action, prefix: Words) -> bool:
    return prefix in set(_all_prefixes(action.script)) or " ".join(prefix) in action.script


def _questions(policy: Policy, actions: Sequence[Action], asked: Sequence[int]) -> list[_Question]:
    """Take the questions apart, and leave out those commands that need no rule."""
    parts = {n: found for n in asked if (found := segments(actions[n].script))}
    alone = [
        (n, words, actions[n]._replace(call=command_call("", _with(actions[n], words))))
        for n, commands in parts.items()
        for words in dict.fromkeys(commands)
    ]
    found = replayed(policy, [action for _, _, action in alone]).decisions
    open_ones: dict[int, set[Words]] = {}
    for (number, words, _), decision in zip(alone, found, strict=True):
        if decision is None or decision.decision != "allow":
            open_ones.setdefault(number, set()).add(words)
    return [_Question(number, frozenset(commands)) for number, commands in open_ones.items()]


def _with(action: Action, words: Words) -> dict[str, object]:
    from shlex import join

    return {**action.call.arguments, "cmd": join(words)}


def _cover(questions: Sequence[_Question], taboo: set[Words], most: int) -> list[Words]:
    """Choose greedily; of two that spare the same, the one that allows less."""
    offered = {
        words: [p for p in prefixes(words) if p not in taboo]
        for q in questions
        for words in q.commands
    }
    left = {q.number: set(q.commands) for q in questions if all(offered[w] for w in q.commands)}
    chosen: list[Words] = []
    while left and len(chosen) < most:
        gains: dict[Words, float] = {}
        for commands in left.values():
            for prefix in {prefix for words in commands for prefix in offered[words]}:
                gains[prefix] = gains.get(prefix, 0) + 1 / len(commands)
        best = max(gains, key=lambda prefix: (gains[prefix], len(prefix), prefix))
        chosen.append(best)
        for commands in left.values():
            commands -= {words for words in commands if words[: len(best)] == best}
        left = {number: commands for number, commands in left.items() if commands}
    return _needed(chosen, questions)


def _needed(chosen: list[Words], questions: Sequence[_Question]) -> list[Words]:
    """Leave out rules without which as many questions are spared."""
    for words in reversed(chosen.copy()):
        fewer = [other for other in chosen if other != words]
        if len(_spared(fewer, questions)) == len(_spared(chosen, questions)):
            chosen = fewer
    return chosen


def _spared(chosen: Iterable[Words], questions: Sequence[_Question]) -> list[_Question]:
    rules = list(chosen)
    return [q for q in questions if all(_covers(rules, words) for words in q.commands)]


def _covers(rules: Iterable[Words], words: Words) -> bool:
    return any(words[: len(rule)] == rule for rule in rules)


def _counted(
    chosen: Sequence[Words], questions: Sequence[_Question], spared: Sequence[int]
) -> list[tuple[Words, int]]:
    helped = set(spared)
    counts = {
        rule: sum(
            q.number in helped and any(_covers([rule], words) for words in q.commands)
            for q in questions
        )
        for rule in chosen
    }
    useful = [(rule, count) for rule, count in counts.items() if count]
    return sorted(useful, key=lambda each: (-each[1], each[0]))


def _tried(
    policy: Policy, actions: Sequence[Action], chosen: Sequence[Words]
) -> list[Redecision | None]:
    """Decide again with the rules added, in a copy of the policy that is thrown away."""
    with tempfile.TemporaryDirectory(prefix="ferrule-policy-") as folder:
        home = Path(folder)
        own = policy.host.home
        if (own / "rules").is_dir():
            shutil.copytree(own / "rules", home / "rules")
        if (own / "config.toml").is_file():
            shutil.copy(own / "config.toml", home / "config.toml")
        (home / "rules").mkdir(exist_ok=True)
        lines = "".join(f"{_line(words)}\n" for words in chosen)
        (home / "rules" / _FILE).write_text(lines, "utf-8")
        return replayed(policy._replace(host=policy.host.at(home)), actions).decisions


def _line(words: Words) -> str:
    return f"allow prefix {' '.join(words)}"
