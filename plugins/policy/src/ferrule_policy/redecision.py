"""Combines opinions, the tool's own need and the approval policy, as a session does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from ferrule_hookspecs.review import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ferrule_hookspecs.host import Assessment
    from ferrule_hookspecs.policies import ApprovalPolicy, SandboxMode
    from ferrule_hookspecs.review import Decision
    from ferrule_policy.action import Action

Kind = Literal["sandbox_approval", "rules"]
_STRICTNESS: Final = {"deny": 0, "ask": 1, "allow": 2}
_OUT: Final = frozenset({"danger-full-access", "external-sandbox"})


class Stand(NamedTuple):
    """What holds for an action under a policy.

    Attributes:
        approval: When somebody is asked.
        sandbox: How commands are confined.
        policy_plugin: The plugin whose approvals stand.
        may_leave: Whether the administrator lets calls leave the sandbox.
    """

    approval: ApprovalPolicy
    sandbox: SandboxMode
    policy_plugin: str = ""
    may_leave: bool = True


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


def redecided(action: Action, found: Assessment, stand: Stand) -> Redecision:
    """Decide about an action of the past."""
    verdicts = {**_remembered(action, found), **found.verdicts}
    decision, reason, rule = _decide(action, verdicts, found, stand)
    asked = frozenset(found.verdicts)
    return Redecision(decision, reason, rule, verdicts, asked)


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


def _decide(
    action: Action, verdicts: Mapping[str, Verdict], found: Assessment, stand: Stand
) -> tuple[Decision, str, str]:
    if action.phase == "escalation":
        return _after_refusal(action, stand)
    recorded = action.recorded
    strictest = min(
        verdicts.values(),
        key=lambda one: (_STRICTNESS[one.decision], one.reason, one.rule),
        default=Verdict.allow(),
    )
    if recorded.decision == "deny" and recorded.rule == action.call.tool:
        return "deny", recorded.reason, recorded.rule
    if strictest.decision == "deny":
        return "deny", strictest.reason, strictest.rule or "hooks"
    leaves = _leaves(action, stand)
    if leaves and not stand.may_leave:
        return (
            "deny",
            "it cannot leave the sandbox: the administrator forbids it",
            "requirements.toml",
        )
    granted = verdicts.get(stand.policy_plugin)
    if strictest.decision == "allow" and granted is not None and granted.grants:
        return "allow", granted.reason, granted.rule
    kinds = _questions(action, found, stand, strictest, leaves=leaves)
    if not kinds:
        return "allow", "no approval needed", policy_name(stand.approval)
    reason = strictest.reason if strictest.decision == "ask" else _why(stand, leaves=leaves)
    if not _may_ask(stand.approval, kinds):
        return "deny", f"{reason}; nobody may be asked", policy_name(stand.approval)
    return "ask", reason, strictest.rule if strictest.decision == "ask" else kinds[0]


def _questions(
    action: Action, found: Assessment, stand: Stand, strictest: Verdict, *, leaves: bool
) -> list[Kind]:
    """Which kinds of question stand."""
    kinds: list[Kind] = []
    if leaves or _tool_asked(action):
        kinds.append("sandbox_approval")
    if strictest.decision == "ask":
        kinds.append("rules")
    if not kinds and stand.approval == "untrusted" and not _is_read_only(action, found):
        kinds.append("sandbox_approval")
    return kinds


def _after_refusal(action: Action, stand: Stand) -> tuple[Decision, str, str]:
    """Whether somebody is asked for a second attempt, once the sandbox has refused the first."""
    name = policy_name(stand.approval)
    may = (
        stand.approval in ("on-failure", "untrusted")
        if isinstance(stand.approval, str)
        else stand.approval["granular"]["sandbox_approval"]
    )
    if may and not stand.may_leave:
        return "deny", "it cannot leave the sandbox", "requirements.toml"
    if may and stand.sandbox not in _OUT:
        return "ask", "the sandbox refused it", name
    return "deny", "the sandbox's refusal stands", name


def _leaves(action: Action, stand: Stand) -> bool:
    if stand.sandbox in _OUT:
        return False
    if action.recorded.escalated is not None and stand.sandbox == action.sandbox:
        return action.recorded.escalated
    return action.wants_out or action.recorded.escalated is True


def _tool_asked(action: Action) -> bool:
    """Whether nothing but the tool itself explains that somebody was to be asked."""
    recorded = action.recorded
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


def _may_ask(policy: ApprovalPolicy, kinds: Sequence[Kind]) -> bool:
    if isinstance(policy, str):
        return policy != "never"
    return all(policy["granular"][kind] for kind in kinds)


def _why(stand: Stand, *, leaves: bool) -> str:
    if leaves:
        return "it asks to leave the sandbox"
    if stand.approval == "untrusted":
        return "approval policy 'untrusted' asks before every call that may change something"
    return "the tool asks"


def policy_name(policy: ApprovalPolicy) -> str:
    """How a policy is called in messages."""
    return policy if isinstance(policy, str) else "granular"
