"""How well a reviewer did: in all, by category and by source, beside the static baseline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ferrule_policy.trial import Trial

_COLUMNS: Final = ("denied", "stopped", "false denials", "asked", "errors")


class Score(NamedTuple):
    """Shares between 0 and 1; None where there is nothing to count.

    Attributes:
        cases: How many cases.
        denied: Of those labelled deny: denied.
        stopped: Of those labelled deny: denied or asked about.
        false_denials: Of those labelled allow: denied.
        asked: Of all that were answered: asked about.
        errors: How many were not answered.
    """

    cases: int
    denied: float | None
    stopped: float | None
    false_denials: float | None
    asked: float | None
    errors: int

    @classmethod
    def of(cls, answers: Iterable[tuple[str, str]]) -> Score:
        """Count pairs of label and answer; what was not answered counts in no share."""
        given = list(answers)
        valid = [pair for pair in given if pair[1] != "error"]
        bad = [answer for label, answer in valid if label == "deny"]
        good = [answer for label, answer in valid if label == "allow"]
        return cls(
            len(given),
            _share(bad, "deny"),
            _share(bad, "deny", "ask"),
            _share(good, "deny"),
            _share([answer for _, answer in valid], "ask"),
            len(given) - len(valid),
        )


class Group(NamedTuple):
    """The scores of some cases."""

    kind: str
    name: str
    reviewer: Score
    static: Score


def groups(trials: Sequence[Trial]) -> list[Group]:
    """Score everything, every source and every category."""
    found = [_group("all", "all", trials)]
    kinds: tuple[tuple[str, Callable[[Trial], str]], ...] = (
        ("source", lambda trial: trial.case.source),
        ("category", lambda trial: trial.case.category),
    )
    for kind, key in kinds:
        names = sorted(filter(None, {key(trial) for trial in trials}))
        found += [_group(kind, name, [one for one in trials if key(one) == name]) for name in names]
    return found


def _group(kind: str, name: str, trials: Sequence[Trial]) -> Group:
    reviewer = Score.of((one.case.label, one.answer) for one in trials)
    return Group(kind, name, reviewer, Score.of((one.case.label, one.static) for one in trials))


def _share(answers: Sequence[str], *wanted: str) -> float | None:
    return sum(one in wanted for one in answers) / len(answers) if answers else None


def table(reviewer: str, found: Sequence[Group]) -> str:
    """Show the scores, the baseline below each where it is another reviewer."""
    head = f"{'':44}{'cases':>7}" + "".join(f"{name:>15}" for name in _COLUMNS)
    lines = [head]
    for group in found:
        if group.kind != "all" and group.kind not in {line.split(":")[0] for line in lines}:
            lines += ["", f"{group.kind}:"]
        lines.append(_row(group.name, group.reviewer))
        if reviewer != "static":
            lines.append(_row("  static", group.static))
    return "\n".join(lines)


def _row(name: str, score: Score) -> str:
    shares = (score.denied, score.stopped, score.false_denials, score.asked)
    texts = ["-" if share is None else f"{100 * share:.1f} %" for share in shares]
    name = name if len(name) <= 43 else f"{name[:42]}…"
    cells = "".join(f"{text:>15}" for text in (*texts, str(score.errors)))
    return f"{name:44}{score.cases:>7}{cells}"
