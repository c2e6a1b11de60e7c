"""What an approval policy permits to be asked, and what was approved for the session."""

from __future__ import annotations

import json
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from anyio import Lock

    from ferrule_hookspecs.egress import HostAccess
    from ferrule_hookspecs.permissions import AdditionalPermissions
    from ferrule_hookspecs.policies import ApprovalPolicy, SandboxPolicy
    from ferrule_hookspecs.ruling import QuestionKind
    from ferrule_hookspecs.tools import ToolCall

    Ground = tuple[str, Sequence[SandboxPolicy]]
    """What a call is judged on: the folder, and the sandbox policies that count for the thread."""


def may_ask(policy: ApprovalPolicy, kinds: Iterable[QuestionKind]) -> bool:
    """Whether a call may be put before a reviewer, where all of these kinds of question stand."""
    if isinstance(policy, str):
        return policy != "never"
    return all(policy["granular"].get(kind, False) for kind in kinds)


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


class Confinement(NamedTuple):
    """How an approved call runs: without the sandbox, or in it with more permissions.

    `shown` is what was said about the call beside its arguments, which it was approved by, too.
    """

    escalated: bool
    permissions: AdditionalPermissions
    shown: Mapping[str, object] = MappingProxyType({})


class ApprovalMemory:
    """Calls a reviewer accepted for the rest of the session.

    An acceptance covers the call byte for byte, in the same folder, under the same policies, with
    the same permissions beyond it, as long as its tool says the same about it.

    Attributes:
        hosts: What commands may connect to for the rest of the session.
        host_questions: Held while a question about a host is open.
    """

    def __init__(self) -> None:
        self._accepted: set[tuple[str, ...]] = set()
        self.hosts: set[HostAccess] = set()
        self.host_questions: dict[HostAccess, Lock] = {}

    def remember(self, call: ToolCall, under: Ground, confinement: Confinement) -> None:
        """Accept this very call from now on."""
        self._accepted.add(_identity(call, under, confinement))

    def covers(self, call: ToolCall, under: Ground, confinement: Confinement) -> bool:
        """Whether this very call was accepted before."""
        return _identity(call, under, confinement) in self._accepted


def _identity(call: ToolCall, under: Ground, confinement: Confinement) -> tuple[str, ...]:
    cwd, policies = under
    sandbox = json.dumps([policies, confinement.permissions], sort_keys=True)
    if confinement.escalated:
        sandbox = "none"
    shown = json.dumps(confinement.shown, sort_keys=True, default=dict)
    return (call.tool, call.form, call.text, cwd, sandbox, shown)
