"""What an approval policy permits to be asked, and what was approved for the session."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ferrule.session_parts import Settings
    from ferrule_hookspecs.policies import ApprovalPolicy
    from ferrule_hookspecs.tools import ToolCall


Kind = Literal["sandbox_approval", "rules"]


def may_ask(policy: ApprovalPolicy, kinds: Iterable[Kind]) -> bool:
    """Whether a call may be put before a reviewer, where all of these kinds of question stand."""
    if isinstance(policy, str):
        return policy != "never"
    return all(policy["granular"][kind] for kind in kinds)


def asks_after_denial(policy: ApprovalPolicy) -> bool:
    """Whether a refusal of the sandbox may lead to a second, wider attempt."""
    if isinstance(policy, str):
        return policy in ("on-failure", "untrusted")
    return policy["granular"]["sandbox_approval"]


def asks_first(policy: ApprovalPolicy, *, is_read_only: bool) -> bool:
    """Whether a call needs approval for no other reason than the policy."""
    return policy == "untrusted" and not is_read_only


def policy_name(policy: ApprovalPolicy) -> str:
    """How the policy is called in messages."""
    return policy if isinstance(policy, str) else "granular"


class ApprovalMemory:
    """Calls a reviewer accepted for the rest of the session.

    An acceptance covers the call byte for byte, in the same folder, under the same policy.
    """

    def __init__(self) -> None:
        self._accepted: set[tuple[str, ...]] = set()

    def remember(self, call: ToolCall, settings: Settings, *, escalated: bool) -> None:
        """Accept this very call from now on."""
        self._accepted.add(_identity(call, settings, escalated))

    def covers(self, call: ToolCall, settings: Settings, *, escalated: bool) -> bool:
        """Whether this very call was accepted before."""
        return _identity(call, settings, escalated) in self._accepted


def _identity(call: ToolCall, settings: Settings, escalated: bool) -> tuple[str, ...]:
    sandbox = "none" if escalated else json.dumps(settings.sandbox_policy, sort_keys=True)
    return (call.tool, call.form, call.text, settings.cwd, sandbox)
