"""Verdicts that still hold, so that the same action is not paid for twice."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ferrule_hookspecs.history import HistoryItem
    from ferrule_hookspecs.review import ReviewContext, ReviewRequest
    from ferrule_reviewer_guardian.verdict import Verdict

_CAPACITY: Final = 256
_LOOKING: Final = frozenset({"read_file", "list_dir", "grep_files", "view_image", "update_plan"})
"""Calls that change nothing an action could depend on."""


class Situation(NamedTuple):
    """An action, and what its verdict depended on.

    Attributes:
        action: The exact action and the policy it was asked under.
        user: All the user wrote.
        work: The calls that may have changed what the action does.
    """

    action: str
    user: str
    work: str


class VerdictMemory:
    """Verdicts by exact action."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[Situation, Verdict]] = {}

    def recall(self, now: Situation) -> Verdict | None:
        """Return the verdict of the same action, if it still holds.

        None of them outlives new words of the user. A refusal holds as long as those; anything
        else only while nothing else was done: a script that was harmless may have been rewritten.
        """
        then, verdict = self._kept.get(now.action, (None, None))
        if then is None or verdict is None or then.user != now.user:
            return None
        return verdict if verdict.outcome == "deny" or then.work == now.work else None

    def keep(self, now: Situation, verdict: Verdict) -> None:
        """Remember a verdict; the oldest is forgotten first."""
        self._kept.pop(now.action, None)
        self._kept[now.action] = (now, verdict)
        if len(self._kept) > _CAPACITY:
            del self._kept[next(iter(self._kept))]


def situation_of(request: ReviewRequest, context: ReviewContext) -> Situation:
    """Describe what a verdict about a request depends on."""
    call, turn = request.call, context.turn
    action = (
        call.tool,
        call.form,
        call.text,
        request.cwd,
        str(request.escalation),
        "" if request.denial is None else request.denial.reason,
        "" if request.network is None else " ".join(map(str, request.network)),
        "" if turn is None else f"{turn.approval_policy} {turn.sandbox_mode}",
    )
    return Situation(_digest(action), _digest(context.user_texts), _work(request, context.history))


def _work(request: ReviewRequest, history: Sequence[HistoryItem]) -> str:
    """Tell apart what was done besides this very action and merely looking."""
    done = [_said(item) for item in history]
    own = next(
        (
            _said(item)
            for item in reversed(history)
            if "name" in item and request.call.call_id.startswith(item["call_id"])
        ),
        "",
    )
    return _digest([said for said in done if said and said != own])


def _said(item: HistoryItem) -> str:
    if item["type"] == "function_call" and item["name"] not in _LOOKING:
        return f"{item['name']} {item['arguments']}"
    if item["type"] == "custom_tool_call":
        return f"{item['name']} {item['input']}"
    return ""


def _digest(parts: Sequence[str]) -> str:
    joined = "".join(f"{len(part)}:{part}" for part in parts)
    return hashlib.sha256(joined.encode("utf-8", "surrogatepass")).hexdigest()
