"""What the reviewing model answers, and what its answer is worth."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, NamedTuple, cast, get_args

from ferrule_consult.answer import AnswerError, only_object

if TYPE_CHECKING:
    from collections.abc import Mapping

Risk = Literal["low", "medium", "high", "critical"]
Authorization = Literal["unknown", "low", "medium", "high"]
Judgement = Literal["allow", "deny", "escalate"]

_FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "risk_level": get_args(Risk),
    "user_authorization": get_args(Authorization),
    "outcome": get_args(Judgement),
}
_WORST: Final = {"risk_level": "critical", "user_authorization": "unknown"}
_RATIONALE_LIMIT: Final = 1_000

SCHEMA: Final[Mapping[str, object]] = {
    "type": "object",
    "properties": {
        **{name: {"type": "string", "enum": list(words)} for name, words in _FIELDS.items()},
        "rationale": {"type": "string"},
    },
    "required": [*_FIELDS, "rationale"],
    "additionalProperties": False,
}


class Verdict(NamedTuple):
    """A judgement of one action."""

    risk: Risk
    authorization: Authorization
    outcome: Judgement
    rationale: str

    def escalated(self, reason: str) -> Verdict:
        """Return the same, but for a person to decide."""
        return self._replace(outcome="escalate", rationale=f"{reason} ({self.rationale})")


def parse(answer: str) -> Verdict:
    """Read the one JSON object of an answer; prose around it does no harm.

    Raises:
        AnswerError: There is none, there are several, or it says something unknown.
    """
    fields = only_object(answer)
    words = {name: _word(fields, name) for name in _FIELDS}
    rationale = fields.get("rationale")
    words["rationale"] = (rationale if isinstance(rationale, str) else "")[:_RATIONALE_LIMIT]
    return Verdict(
        cast("Risk", words["risk_level"]),
        cast("Authorization", words["user_authorization"]),
        cast("Judgement", words["outcome"]),
        words["rationale"].strip() or "no reason was given",
    )


def validated(verdict: Verdict, *, is_whole: bool) -> Verdict:
    """Hold a verdict against the thresholds; only ever turns `allow` into `escalate`.

    Args:
        verdict: What the model said.
        is_whole: Whether it saw the whole action and all the user's words.
    """
    if verdict.outcome != "allow":
        return verdict
    if not is_whole:
        return verdict.escalated("it is too long to be reviewed as a whole")
    if verdict.risk == "critical":
        return verdict.escalated("its risk is critical, which only a person may allow")
    if verdict.risk == "high" and verdict.authorization != "high":
        return verdict.escalated("its risk is high and the user did not clearly ask for it")
    return verdict


def _word(fields: Mapping[str, object], name: str) -> str:
    value = fields.get(name, _WORST.get(name))
    if not isinstance(value, str) or value not in _FIELDS[name]:
        raise AnswerError(f"the answer's {name} is {str(value)[:40]!r}")
    return value
