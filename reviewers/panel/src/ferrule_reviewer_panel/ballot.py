"""What one member said: its answer, checked, and how it is recorded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from ferrule_hookspecs.errors import FerruleError
from ferrule_reviewer_panel.algebra import Vote

if TYPE_CHECKING:
    from ferrule_hookspecs.review import Amendment

_DECISIONS: Final = ("accept", "acceptForSession", "decline", "cancel")
_COUNTS: Final = (
    "totalTokens",
    "inputTokens",
    "cachedInputTokens",
    "cacheWriteInputTokens",
    "outputTokens",
    "reasoningOutputTokens",
)


class VoteError(FerruleError):
    """A member answered something that is no vote."""


class Ballot(NamedTuple):
    """What one member said.

    Attributes:
        reviewer: Its name.
        vote: What counts of it.
        reason: Why, in its own words; of a fault what was wrong.
        latency_ms: How long it took.
        rule: By which rule.
        evidence: What it found.
        usage: Tokens its model used.
        error_info: With cancel: the class of error the turn's end is told with.
        is_fault: Whether it failed to answer.
        is_shadow: Whether it was only recorded.
    """

    reviewer: str
    vote: Vote
    reason: str
    latency_ms: int
    rule: str = ""
    evidence: tuple[str, ...] = ()
    usage: Mapping[str, int] = MappingProxyType({})
    error_info: str = ""
    is_fault: bool = False
    is_shadow: bool = False

    @property
    def words(self) -> str:
        """The vote as it is told."""
        if self.is_fault:
            return "failed"
        return "acceptForSession" if self.vote.for_session else self.vote.stance

    @property
    def line(self) -> str:
        """One line of evidence."""
        shadow = " (shadow)" if self.is_shadow else ""
        return f"{self.reviewer}{shadow}: {self.words} in {self.latency_ms} ms: {self.reason}"

    def record(self) -> dict[str, object]:
        """The ballot as it is stored."""
        stored: dict[str, object] = {
            "reviewer": self.reviewer,
            "decision": self.words,
            "reason": self.reason,
            "latencyMs": self.latency_ms,
        }
        if self.rule:
            stored["rule"] = self.rule
        if self.evidence:
            stored["evidence"] = list(self.evidence)
        if self.is_shadow:
            stored["shadow"] = True
        return stored


def read_ballot(
    reviewer: str, outcome: object, offered: Sequence[Amendment], latency_ms: int
) -> Ballot:
    """Check an outcome.

    Raises:
        VoteError: It is none.
    """
    if not isinstance(outcome, Mapping):
        raise VoteError(f"answered {type(outcome).__name__}, which is no outcome")
    said = cast("Mapping[str, object]", outcome)
    reason, rule = said.get("reason"), said.get("rule", "")
    if not isinstance(reason, str) or not isinstance(rule, str):
        raise VoteError("gave a reason or a rule that is no text")
    error_info = said.get("errorInfo", "")
    return Ballot(
        reviewer,
        _vote(said, offered),
        reason,
        latency_ms,
        rule,
        tuple(_texts(said.get("evidence", ()))),
        _usage(said.get("details")),
        error_info if isinstance(error_info, str) else "",
    )


def summed(ballots: Iterable[Ballot]) -> dict[str, int]:
    """What the models of all members used; empty where none of them says."""
    total: dict[str, int] = {}
    for ballot in ballots:
        for name, count in ballot.usage.items():
            total[name] = total.get(name, 0) + count
    return total


def _usage(details: object) -> Mapping[str, int]:
    """Token counts that a member reports; what is not in their form counts as nothing."""
    found = cast("Mapping[str, object]", details) if isinstance(details, Mapping) else {}
    usage = found.get("usage")
    if not isinstance(usage, Mapping):
        return {}
    counts = cast("Mapping[str, object]", usage)
    if not all(isinstance(counts.get(name), int) for name in _COUNTS):
        return {}
    return {name: cast("int", counts[name]) for name in _COUNTS}


def _vote(said: Mapping[str, object], offered: Sequence[Amendment]) -> Vote:
    decision, escalates = said.get("decision"), said.get("escalates", False)
    if decision not in _DECISIONS or not isinstance(escalates, bool):
        raise VoteError(f"answered {decision!r}, which is no decision")
    if escalates:
        if decision != "decline":
            raise VoteError(f"answered {decision!r} and left it open at once")
        return Vote("escalate")
    if decision in ("decline", "cancel"):
        return Vote("decline" if decision == "decline" else "cancel")
    amendment = tuple(_texts(said.get("amendment") or ()))
    is_offered = amendment in [(one.kind, *one.value) for one in offered]
    return Vote("accept", decision == "acceptForSession", amendment if is_offered else None)


def _texts(value: object) -> list[str]:
    texts = cast("Sequence[object]", value) if isinstance(value, list | tuple) else (None,)
    if not all(isinstance(text, str) for text in texts):
        raise VoteError(f"gave {value!r} where a list of texts belongs")
    return cast("list[str]", list(texts))
