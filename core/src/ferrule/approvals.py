"""What an approval policy permits to be asked, and what was approved for the session."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ferrule_hookspecs.policies import ApprovalPolicy
    from ferrule_hookspecs.tools import ToolCall


def may_ask(policy: ApprovalPolicy) -> bool:
    """Whether a tool call may be put before a reviewer."""
    if isinstance(policy, str):
        return policy != "never"
    return policy["granular"]["sandbox_approval"]


def asks_after_denial(policy: ApprovalPolicy) -> bool:
    """Whether a refusal of the sandbox may lead to a second, wider attempt."""
    return policy in ("on-failure", "untrusted")


def asks_first(policy: ApprovalPolicy, *, is_read_only: bool) -> bool:
    """Whether a call needs approval for no other reason than the policy."""
    return policy == "untrusted" and not is_read_only


def policy_name(policy: ApprovalPolicy) -> str:
    """How the policy is called in messages."""
    return policy if isinstance(policy, str) else "granular"


class ApprovalMemory:
    """Calls a reviewer accepted for the rest of the session, by what they are byte for byte."""

    def __init__(self) -> None:
        self._accepted: set[tuple[str, str, bool]] = set()

    def remember(self, call: ToolCall, *, escalated: bool) -> None:
        """Accept this very call from now on."""
        self._accepted.add((call.tool, call.text, escalated))

    def covers(self, call: ToolCall, *, escalated: bool) -> bool:
        """Whether this very call was accepted before."""
        return (call.tool, call.text, escalated) in self._accepted
