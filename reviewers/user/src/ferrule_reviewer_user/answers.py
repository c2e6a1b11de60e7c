"""What a client's answer means; one that is none means no."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, cast, get_args

from ferrule_hookspecs.review import ReviewDecision

if TYPE_CHECKING:
    from ferrule_hookspecs.review import Amendment, ReviewOutcome, ReviewRequest

_DECISIONS: Final = get_args(ReviewDecision)
_FAILED: Final = "approval request failed"
_ACTIONS: Final[Mapping[object, ReviewDecision]] = {
    "accept": "accept",
    "decline": "decline",
    "cancel": "cancel",
}


def outcome(decision: ReviewDecision, where: str) -> ReviewOutcome:
    """Return what a person decided."""
    accepted = decision in ("accept", "acceptForSession")
    reason = f"{'accepted' if accepted else 'declined'} by the user {where}"
    return {"decision": decision, "reviewer": "user", "reason": reason}


def from_client(request: ReviewRequest, method: str, answer: Mapping[str, object]) -> ReviewOutcome:
    """Read the answer to a question."""
    if method == "item/permissions/requestApproval":
        return _granted(answer)
    if method == "mcpServer/elicitation/request":
        return _of_a_server(request, answer)
    decision = answer.get("decision")
    if isinstance(decision, Mapping):
        return _with_amendment(request, cast("Mapping[str, object]", decision))
    if decision not in _DECISIONS:
        return _failed()
    return _said(cast("ReviewDecision", decision))


def _said(decision: ReviewDecision) -> ReviewOutcome:
    return outcome(decision, "through the client")


def _failed() -> ReviewOutcome:
    return {"decision": "decline", "reviewer": "user", "reason": _FAILED, "failed": True}


def _granted(answer: Mapping[str, object]) -> ReviewOutcome:
    """A grant names what is granted; the kernel keeps to what was asked for."""
    granted = answer.get("permissions")
    if not isinstance(granted, Mapping):
        return _failed()
    decision: ReviewDecision = "acceptForSession" if answer.get("scope") == "session" else "accept"
    return {**_said(decision), "granted": dict(cast("Mapping[str, object]", granted))}


def _of_a_server(request: ReviewRequest, answer: Mapping[str, object]) -> ReviewOutcome:
    decision = _ACTIONS.get(answer.get("action"))
    if decision is None:
        return _failed()
    meta = answer.get("_meta")
    persist = cast("Mapping[str, object]", meta).get("persist") if isinstance(meta, dict) else None
    if decision != "accept" or persist not in ("session", "always"):
        return _said(decision)
    if persist == "always" and request.amendments:
        return _accepted_with(request.amendments[0])
    return _said("acceptForSession")


def _with_amendment(request: ReviewRequest, decision: Mapping[str, object]) -> ReviewOutcome:
    match decision:
        case {"acceptWithExecpolicyAmendment": {"execpolicy_amendment": [*words]}}:
            return {**_said("accept"), "amendment": ["command_prefix", *map(str, words)]}
        case {"applyNetworkPolicyAmendment": {"network_policy_amendment": {"host": host, **rest}}}:
            if rest.get("action") == "deny":
                return _said("decline")
            for amendment in request.amendments:
                if amendment.kind == "network_host" and amendment.value[-1] == host:
                    return _accepted_with(amendment)
    return _failed()


def _accepted_with(amendment: Amendment) -> ReviewOutcome:
    return {**_said("accept"), "amendment": [amendment.kind, *amendment.value]}
