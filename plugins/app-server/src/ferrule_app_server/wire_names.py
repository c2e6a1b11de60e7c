"""Names that the published protocol does not know, as the nearest ones that it does.

Its enums are closed: a client with generated types refuses a whole message for one unknown name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ferrule_hookspecs.policies import ApprovalPolicy

_REVIEWERS: Final = frozenset({"user", "auto_review", "guardian_subagent"})


def approval_policy(policy: ApprovalPolicy) -> ApprovalPolicy:
    """Return an approval policy that clients know; `on-failure` asks when needed, too."""
    return "on-request" if policy == "on-failure" else policy


def reviewer(name: str) -> str:
    """Return a reviewer that clients know: any that is no person reviews automatically."""
    return name if name in _REVIEWERS else "auto_review"


def settings(fields: Mapping[str, object]) -> dict[str, object]:
    """Return the settings of a thread with names that clients know."""
    return {
        **fields,
        "approvalPolicy": approval_policy(cast("ApprovalPolicy", fields["approvalPolicy"])),
        "approvalsReviewer": reviewer(str(fields["approvalsReviewer"])),
    }
