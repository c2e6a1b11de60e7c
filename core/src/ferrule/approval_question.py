"""A question whether a call may run, and what comes of the answer. Used by the orchestrator."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from ferrule.approvals import Confinement
from ferrule.permissions import NOTHING
from ferrule_hookspecs.errors import FerruleError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ferrule_hookspecs.egress import HostAccess
    from ferrule_hookspecs.permissions import AdditionalPermissions
    from ferrule_hookspecs.review import Amendment, ReviewOutcome, Verdict
    from ferrule_hookspecs.ruling import QuestionKind
    from ferrule_hookspecs.sandbox import Denial

Phase = Literal["requirement", "review", "escalation", "network"]
ACCEPTING: Final = ("accept", "acceptForSession")


class CallRefusedError(FerruleError):
    """The call was not approved; the message goes to the model."""


class ApprovalFailedError(CallRefusedError):
    """Nobody decided, as the answer made no sense; the message goes to the model."""


class TurnCancelledError(FerruleError):
    """A reviewer answered `cancel`: the call is refused and the turn ends."""

    def __init__(self, message: str, error_info: str = "") -> None:
        """Keep the class of error that clients are told, if the reviewer named one."""
        super().__init__(message)
        self.error_info = error_info


class Question(NamedTuple):
    """Why approval is asked for."""

    phase: Phase
    reason: str
    escalate: bool
    kinds: tuple[QuestionKind, ...]
    denial: Denial | None = None
    verdicts: Mapping[str, Verdict] = MappingProxyType({})
    permissions: AdditionalPermissions = NOTHING
    lasting: bool = False
    offered: tuple[Amendment, ...] = ()
    details: Mapping[str, object] = MappingProxyType({})
    network: HostAccess | None = None

    @property
    def confinement(self) -> Confinement:
        """How the call runs once it is accepted, and what was shown for it."""
        return Confinement(self.escalate, self.permissions, self.details)

    @property
    def asking(self) -> list[Verdict]:
        """The opinions because of which somebody is asked."""
        return [verdict for verdict in self.verdicts.values() if verdict.decision == "ask"]

    @property
    def amendments(self) -> tuple[Amendment, ...]:
        """What may be changed for good by whoever accepts.

        Where a plugin asks, a change that the tool offers would not answer it.
        """
        if self.asking:
            return tuple(each for verdict in self.asking for each in verdict.amendments)
        return self.offered


def cancellation(outcome: ReviewOutcome) -> TurnCancelledError:
    """Word a decision that ends the turn."""
    message = f"cancelled by {outcome['reviewer']}: {outcome['reason']}"
    return TurnCancelledError(message, outcome.get("errorInfo", ""))


def accepted_part(question: Question, outcome: ReviewOutcome) -> AdditionalPermissions:
    """Return what a decision grants beyond the sandbox; raises where it does not accept."""
    if outcome["decision"] == "cancel":
        raise cancellation(outcome)
    if outcome.get("failed"):
        raise ApprovalFailedError(outcome["reason"])
    if outcome["decision"] not in ACCEPTING:
        raise CallRefusedError(f"rejected by {outcome['reviewer']}: {outcome['reason']}")
    if "granted" not in outcome:
        return question.permissions
    granted = question.permissions.granted_by(outcome["granted"])
    if not any(granted):
        raise CallRefusedError(f"rejected by {outcome['reviewer']}: nothing was granted")
    return granted


def refused_words(denial: Denial) -> str:
    """Say what the sandbox refused, and how sure that is."""
    probably = "probably " if denial.is_inferred else ""
    return f"the sandbox {probably}refused it ({denial.reason})"
