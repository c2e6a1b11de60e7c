"""Decisions by the names that clients know them by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

TITLES: Final[Mapping[str, str]] = {
    "approved": "Yes",
    "approved_for_session": "Yes, and do not ask again in this thread",
    "approved_execpolicy_amendment": "Yes, and do not ask again about commands that begin so",
    "approved_network_policy_amendment": "Yes, and do not ask again about this host",
    "denied": "No, and go on without",
    "abort": "No, and stop",
}
_NAMES: Final[Mapping[str, str]] = {
    "accept": "approved",
    "acceptForSession": "approved_for_session",
    "cancel": "abort",
    "acceptWithExecpolicyAmendment": "approved_execpolicy_amendment",
    "applyNetworkPolicyAmendment": "approved_network_policy_amendment",
}
_USUAL: Final = ("accept", "acceptForSession")


def offered(params: Mapping[str, Any]) -> dict[str, object]:
    """Return what may be decided about a question, by name; no and stop are always there.

    Args:
        params: The parameters of the thread's question.
    """
    found: dict[str, object] = {}
    for decision in params.get("availableDecisions") or _USUAL:
        key = next(iter(decision)) if isinstance(decision, dict) else decision
        if key in _NAMES:
            found.setdefault(_NAMES[key], decision)
    return {**found, "denied": "decline", "abort": "cancel"}
