"""Puts what is known of an action of the past before the kernel, which decides as in a session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from ferrule_hookspecs.review import Verdict
from ferrule_hookspecs.ruling import Case, Ruling
from ferrule_hookspecs.tools import Requirement

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ferrule_hookspecs.host import Assessment
    from ferrule_hookspecs.policies import ApprovalPolicy, SandboxMode
    from ferrule_hookspecs.review import Decision
    from ferrule_policy.action import Action

_OUT: Final = frozenset({"danger-full-access", "external-sandbox"})


class Stand(NamedTuple):
    """What holds for an action under a policy.

    Attributes:
        approval: When somebody is asked.
        sandbox: How commands are confined.
        policy_plugin: The plugin whose approvals stand.
        allowed_modes: Sandbox modes that the administrator allows; None for all.
    """

    approval: ApprovalPolicy
    sandbox: SandboxMode
    policy_plugin: str = ""
    allowed_modes: Sequence[str] | None = None


class Redecision(NamedTuple):
    """What would be decided now.

    Attributes:
        decision: allow, ask or deny.
        reason: Why.
        rule: What decides.
        verdicts: What each plugin says; those that cannot be asked say what they said.
        asked: The plugins that were really asked.
    """

    decision: Decision
    reason: str = ""
    rule: str = ""
    verdicts: Mapping[str, Verdict] = {}
    asked: frozenset[str] = frozenset()

    @property
    def is_dangerous(self) -> bool:
        """Whether a plugin refuses it or holds it for dangerous."""
        said = self.verdicts.values()
        return any(one.decision == "deny" or one.rule == "dangerous" for one in said)


def redecided(
    action: Action, found: Assessment, stand: Stand, rule: Callable[[Case], Ruling]
) -> Redecision:
    """Decide about an action of the past, the way the kernel decides."""
    verdicts = {**_remembered(action, found), **found.verdicts}
    ruling = _unchangeable(action) or rule(_case(action, verdicts, found, stand))
    if action.phase == "escalation" and ruling.decision == "ask" and stand.sandbox in _OUT:
        ruling = Ruling("deny", "there is no sandbox that could refuse", ruling.rule)
    asked = frozenset(found.verdicts)
    return Redecision(ruling.decision, ruling.reason, ruling.rule, verdicts, asked)


def _remembered(action: Action, found: Assessment) -> dict[str, Verdict]:
    """What those said at the time who cannot be asked now."""
    recorded = action.recorded
    return {
        plugin: Verdict(
            said["decision"],
            said["reason"],
            said["rule"],
            grants=said["decision"] == "allow" and recorded.by == plugin,
        )
        for plugin, said in (recorded.opinions or {}).items()
        if plugin in found.left_out
    }


def _unchangeable(action: Action) -> Ruling | None:
    """A refusal of the tool itself, which no policy lifts."""
    recorded = action.recorded
    if recorded.decision == "deny" and recorded.rule == action.call.tool:
        return Ruling("deny", recorded.reason, recorded.rule)
    return None


def _case(action: Action, verdicts: Mapping[str, Verdict], found: Assessment, stand: Stand) -> Case:
    requirement = _requirement(action, stand)
    is_second = action.phase == "escalation"
    return Case(
        action.call.tool,
        stand.approval,
        verdicts,
        requirement,
        stand.policy_plugin,
        _is_read_only(action, found),
        _obstacle(requirement, stand, leaves=is_second or requirement.escalate),
        is_second,
    )


def _requirement(action: Action, stand: Stand) -> Requirement:
    """What the tool said, and what the call wants that the sandbox does not give."""
    recorded = action.recorded
    escalate = _leaves(action, stand)
    is_confined = stand.sandbox not in _OUT
    return Requirement(
        "approval" if _tool_asked(action) else "skip",
        escalate=escalate,
        permissions=recorded.permissions if is_confined and not escalate else None,
        lasting=recorded.lasting,
    )


def _obstacle(requirement: Requirement, stand: Stand, *, leaves: bool) -> str:
    allowed = stand.allowed_modes
    writes = requirement.permissions is not None and bool(requirement.permissions.write)
    if allowed is None:
        return ""
    if leaves and "danger-full-access" not in allowed:
        return "it cannot leave the sandbox: the administrator forbids it"
    if writes and stand.sandbox == "read-only" and "workspace-write" not in allowed:
        return "it cannot write: the administrator forbids it"
    return ""


def _leaves(action: Action, stand: Stand) -> bool:
    if stand.sandbox in _OUT:
        return False
    if action.recorded.escalated is not None and stand.sandbox == action.sandbox:
        return action.recorded.escalated
    return action.wants_out or action.recorded.escalated is True


def _tool_asked(action: Action) -> bool:
    """Whether the tool itself wanted somebody to be asked.

    Decisions that were stored without that: whether nothing but the tool explains the question.
    """
    recorded = action.recorded
    if recorded.requirement:
        return recorded.requirement == "approval"
    if recorded.opinions is None or recorded.escalated or action.approval == "untrusted":
        return False
    if any(said["decision"] != "allow" for said in recorded.opinions.values()):
        return False
    is_refused = recorded.decision == "deny" and recorded.rule in ("never", "granular")
    return recorded.decision == "ask" or is_refused


def _is_read_only(action: Action, found: Assessment) -> bool:
    recorded = action.recorded
    accepted = recorded.decision == "allow" and recorded.by == "policy"
    return found.is_read_only or (accepted and recorded.rule == "untrusted")


def policy_name(policy: ApprovalPolicy) -> str:
    """How a policy is called in messages."""
    return policy if isinstance(policy, str) else "granular"
