"""Combines opinions, a tool's own need and the approval policy; the strictest wins.

Pure: the orchestrator asks for calls that are about to run, and whoever replays decisions of the
past asks through the contract's `Kernel.rule`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ferrule.approvals import asks_after_denial, asks_first, may_ask, policy_name
from ferrule.dispatcher import strictest
from ferrule.permissions import NOTHING
from ferrule_hookspecs.ruling import Ruling
from ferrule_hookspecs.tools import Requirement

if TYPE_CHECKING:
    from ferrule_hookspecs.review import Verdict
    from ferrule_hookspecs.ruling import Case, QuestionKind

_ADMINISTRATOR: Final = "requirements.toml"
_UNTRUSTED: Final = "approval policy 'untrusted' asks before every call that may change something"


def ruled(case: Case) -> Ruling:
    """Decide a case."""
    name = policy_name(case.approval_policy)
    if case.is_second:
        return _after_denial(case, name)
    requirement = case.requirement or Requirement()
    verdict = strictest(case.verdicts)
    if requirement.kind == "forbidden":
        return Ruling("deny", requirement.reason, case.tool)
    if verdict.decision == "deny":
        return Ruling("deny", verdict.reason, verdict.rule or "hooks")
    if case.obstacle:
        return Ruling("deny", case.obstacle, _ADMINISTRATOR)
    granted = case.verdicts.get(case.policy_plugin)
    # A standing approval is of what a command does, not of what it wants beyond the sandbox.
    stands = granted is not None and granted.grants and not any(requirement.permissions or NOTHING)
    if verdict.decision == "allow" and granted is not None and stands:
        return Ruling("allow", granted.reason, granted.rule, case.policy_plugin)
    reasons = _reasons(case, requirement, verdict)
    if not reasons:
        return Ruling("allow", "no approval needed", name)
    kinds, reason = tuple(reasons), next(iter(reasons.values()))
    if not may_ask(case.approval_policy, kinds):
        return _nobody(reason, name, kinds)
    rule = verdict.rule if verdict.decision == "ask" else ""
    return Ruling("ask", reason, rule or kinds[0], kinds=kinds)


def _reasons(case: Case, requirement: Requirement, verdict: Verdict) -> dict[QuestionKind, str]:
    """Why somebody has to be asked, by kind of question."""
    reasons: dict[QuestionKind, str] = {}
    wanted = requirement.permissions or NOTHING
    if any(wanted):
        kind = "request_permissions" if requirement.lasting else "sandbox_approval"
        why = requirement.reason or f"{case.tool} needs more than the sandbox allows"
        reasons[kind] = f"{why} (grants {wanted.summary})"
    if requirement.kind == "approval" or requirement.escalate:
        why = requirement.reason or f"{case.tool} leaves the sandbox"
        reasons.setdefault("sandbox_approval", why)
    if verdict.decision == "ask":
        reasons["rules"] = verdict.reason
    if not reasons and asks_first(case.approval_policy, is_read_only=case.is_read_only):
        reasons["sandbox_approval"] = _UNTRUSTED
    return reasons


def _after_denial(case: Case, name: str) -> Ruling:
    if not asks_after_denial(case.approval_policy):
        return Ruling("deny", "the sandbox's refusal stands", name)
    if case.obstacle:
        return Ruling("deny", case.obstacle, _ADMINISTRATOR)
    return Ruling("ask", "the sandbox refused it", name, kinds=("sandbox_approval",))


def _nobody(reason: str, name: str, kinds: tuple[QuestionKind, ...]) -> Ruling:
    words = f"rejected by user approval settings (approval policy {name!r} does not allow asking)"
    return Ruling("deny", f"{reason}; {words}", name, kinds=kinds)
