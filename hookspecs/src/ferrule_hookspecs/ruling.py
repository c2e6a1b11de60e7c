"""What opinions, a tool's own need and the approval policy come to, before anybody is asked."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ferrule_hookspecs.policies import ApprovalPolicy
    from ferrule_hookspecs.review import Decision, Verdict
    from ferrule_hookspecs.tools import Requirement

QuestionKind = Literal["sandbox_approval", "rules", "request_permissions"]
"""What a question is about; a `granular` approval policy allows or forbids each kind."""


class Case(NamedTuple):
    """What a decision about a call is made from.

    Attributes:
        tool: The tool.
        approval_policy: When somebody is asked.
        verdicts: Opinions of the assessing plugins, by plugin name.
        requirement: What the tool says, reduced to what the sandbox does not give anyway.
        policy_plugin: The plugin whose standing approvals count.
        is_read_only: Whether the tool never changes anything.
        obstacle: Why the administrator lets nobody grant what the call wants; empty otherwise.
        is_second: Whether it is about a second attempt, after the sandbox refused the first.
    """

    tool: str
    approval_policy: ApprovalPolicy
    verdicts: Mapping[str, Verdict] = MappingProxyType({})
    requirement: Requirement | None = None
    policy_plugin: str = ""
    is_read_only: bool = False
    obstacle: str = ""
    is_second: bool = False


class Ruling(NamedTuple):
    """What a case comes to.

    Attributes:
        decision: allow runs, ask needs a reviewer, deny never runs.
        reason: Why, in plain words.
        rule: What decides.
        by: With allow: which plugin's standing approval it is; empty where nobody needs to approve.
        kinds: Which kinds of question stand.
    """

    decision: Decision
    reason: str
    rule: str
    by: str = ""
    kinds: tuple[QuestionKind, ...] = ()
