"""What was decided about calls, and how automatic reviews go, in app-server v2 wire form."""

from __future__ import annotations

from typing import Literal, NotRequired

from typing_extensions import TypedDict

from ferrule_hookspecs.review import ReviewOutcome


class PluginOpinion(TypedDict):
    """What an assessing plugin said about a call."""

    decision: Literal["allow", "ask", "deny"]
    reason: str
    rule: str


class DecisionFacts(TypedDict):
    """What a decision about a stored call was made from, so that it can be made again."""

    cwd: str
    approvalPolicy: str
    sandboxMode: str
    escalated: bool
    opinions: dict[str, PluginOpinion]
    requirement: NotRequired[Literal["skip", "approval", "forbidden"]]
    """What the tool itself said."""
    permissions: NotRequired[dict[str, object]]
    """What the call wants beyond its sandbox, as clients are told."""
    lasting: NotRequired[bool]
    """Whether it wants that for the calls that follow, too."""


class DecisionParams(TypedDict):
    """Who decided what about a tool call, by which rule, and why."""

    threadId: str
    turnId: str
    itemId: str
    tool: str
    phase: Literal["requirement", "review", "escalation", "network"]
    outcome: ReviewOutcome
    facts: NotRequired[DecisionFacts]


class DecisionMade(TypedDict):
    """The orchestrator decided about a tool call; every call has at least one."""

    method: Literal["item/decision"]
    params: DecisionParams


class AutoReview(TypedDict):
    """How an automatic review stands; `ending` tells apart what clients know as `aborted`."""

    status: Literal["inProgress", "approved", "denied", "timedOut", "aborted"]
    riskLevel: str | None
    userAuthorization: str | None
    rationale: str | None
    ending: NotRequired[Literal["approved", "denied", "escalated", "timedOut", "failed"]]


class AutoReviewParams(TypedDict):
    """A review of a tool call by a model; `action` is what was put before it.

    Beside the fields that clients know, `action` has what the model read.
    """

    threadId: str
    turnId: str
    reviewId: str
    targetItemId: str
    startedAtMs: int
    action: dict[str, object]
    review: AutoReview


class AutoReviewStarted(TypedDict):
    """An automatic review began."""

    method: Literal["item/autoApprovalReview/started"]
    params: AutoReviewParams


class AutoReviewCompletedParams(AutoReviewParams):
    """How a review ended; `decisionSource` says that a model decided, not a person."""

    completedAtMs: int
    decisionSource: Literal["agent"]


class AutoReviewCompleted(TypedDict):
    """An automatic review ended; what became of the call is in `item/decision`."""

    method: Literal["item/autoApprovalReview/completed"]
    params: AutoReviewCompletedParams
