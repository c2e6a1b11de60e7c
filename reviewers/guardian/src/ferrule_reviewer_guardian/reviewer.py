"""The reviewer `auto_review`, also called `guardian_subagent`.

A model says what it thinks of an action; this decides what comes of it. Nothing is allowed unless
the model said so in an answer that holds up, and everything else ends with a person or a refusal.
"""

from __future__ import annotations

import time
import uuid
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from ferrule_hookspecs.errors import FerruleError

if TYPE_CHECKING:
    from ferrule_consult.exchange import Answer
    from ferrule_hookspecs.decisions import AutoReview
    from ferrule_hookspecs.events import Event
    from ferrule_hookspecs.plugins import PluginContext
    from ferrule_hookspecs.review import ReviewContext, ReviewOutcome, ReviewRequest
    from ferrule_reviewer_guardian.action import Action
    from ferrule_reviewer_guardian.settings import GuardianSettings
    from ferrule_reviewer_guardian.verdict import Verdict

_FAILED: Final = "the automatic review failed, which is no judgement of the action"
_KNOWN_ENDINGS: Final = ("approved", "denied", "timedOut")
_NO_WAY_ROUND: Final = (
    "Do not try to reach the same by another way; ask the user, or go on without it"
)


class _Finding(NamedTuple):
    """What a review came to.

    Attributes:
        verdict: The judgement; None where there is none.
        failure: Why there is none.
        answer: What the model said in this review, if it was asked.
        rule: What decided.
        timed_out: Whether the deadline was the reason.
    """

    verdict: Verdict | None = None
    failure: str = ""
    answer: Answer | None = None
    rule: str = "model"
    timed_out: bool = False


class GuardianReviewer:
    """Has a model review what needs approval."""

    def __init__(self, context: PluginContext) -> None:
        from ferrule_reviewer_guardian.breaker import CircuitBreaker
        from ferrule_reviewer_guardian.memory import VerdictMemory

        self.name = context.name or "guardian_subagent"
        self._context = context
        self._memory = VerdictMemory()
        self._breaker = CircuitBreaker()

    @cached_property
    def _settings(self) -> GuardianSettings:
        from ferrule_reviewer_guardian.settings import GuardianSettings

        return GuardianSettings.read(self._context)

    @cached_property
    def _conversation(self) -> object:
        from ferrule_reviewer_guardian.conversation import ReviewConversation

        return ReviewConversation(self._settings.policy)

    async def review(self, request: ReviewRequest, context: ReviewContext) -> ReviewOutcome:
        """Decide; asks the model unless the answer is already known."""
        from ferrule_reviewer_guardian.action import action_of

        if context.turn is not None and context.turn.parent_thread_id is not None:
            # What a subagent was told was written by an agent.
            context = context._replace(user_texts=())
        action = action_of(request, context.turn)
        report = _Report(request, context, action)
        report.started()
        finding = await self._find(request, context, action)
        report.completed(finding)
        return self._decided(request, context, finding, report.review_id)

    async def _find(
        self, request: ReviewRequest, context: ReviewContext, action: Action
    ) -> _Finding:
        from ferrule_consult.exchange import ConsultTimeoutError
        from ferrule_reviewer_guardian.catastrophes import catastrophe
        from ferrule_reviewer_guardian.memory import situation_of
        from ferrule_reviewer_guardian.verdict import Verdict

        if reason := catastrophe(request.call):
            text = f"{reason}; only a person may allow that"
            return _Finding(Verdict("critical", "unknown", "escalate", text), rule="catastrophe")
        now = situation_of(request, context)
        if (known := self._memory.recall(now)) is not None:
            return _Finding(known, rule="remembered")
        try:
            finding = await self._ask(request, context, action)
        except ConsultTimeoutError as error:
            return _Finding(failure=str(error), timed_out=True)
        except FerruleError as error:
            return _Finding(failure=str(error))
        if finding.verdict is not None:
            self._memory.keep(now, finding.verdict)
        return finding

    async def _ask(
        self, request: ReviewRequest, context: ReviewContext, action: Action
    ) -> _Finding:
        from ferrule_consult.answer import AnswerError
        from ferrule_consult.exchange import answer_of
        from ferrule_consult.lookups import SCHEMAS, LookUps
        from ferrule_hookspecs.provider import ModelRequest
        from ferrule_reviewer_guardian.conversation import ReviewConversation
        from ferrule_reviewer_guardian.verdict import SCHEMA, parse, validated

        settings = self._settings
        if context.provider is None or context.turn is None:
            return _Finding(failure="no model can be asked here")
        conversation = cast("ReviewConversation", self._conversation)
        asked = conversation.ask(context.history, context.user_texts, action)
        lookups = None
        if settings.lookups and self._context.services is not None:
            root = self._context.project_root or request.cwd
            lookups = LookUps(self._context.services.files(), root, settings.lookups)
        answer = await answer_of(
            context.provider(settings.provider),
            ModelRequest(
                thread_id=f"guardian:{request.thread_id}",
                turn_id=request.turn_id,
                model=settings.model or context.turn.model,
                input=asked.input,
                tools=() if lookups is None else SCHEMAS,
                kind="review",
                parallel_tool_calls=False,
                output_schema=SCHEMA,
            ),
            settings.timeout_s,
            lookups,
        )
        try:
            verdict = validated(parse(answer.text), is_whole=asked.is_whole)
        except AnswerError as error:
            return _Finding(failure=str(error), answer=answer)
        conversation.answered(asked, answer.text)
        return _Finding(verdict, answer=answer)

    def _decided(
        self, request: ReviewRequest, context: ReviewContext, finding: _Finding, review_id: str
    ) -> ReviewOutcome:
        verdict = finding.verdict
        outcome: ReviewOutcome = {
            "decision": "decline",
            "reviewer": self.name,
            "reason": f"{_FAILED}: {finding.failure}",
            "rule": finding.rule,
            "details": self._details(context, finding, review_id),
        }
        if verdict is None:
            return {**outcome, "escalates": True}
        refused = verdict.outcome == "deny" or (
            verdict.outcome == "escalate" and not _is_attended(context)
        )
        tripped = self._breaker.note(request.turn_id, refused=refused)
        if verdict.outcome == "allow":
            return {**outcome, "decision": "accept", "reason": verdict.rationale}
        if verdict.outcome == "deny":
            reason = f"the automatic review found the risk unacceptable: {verdict.rationale}"
            outcome["reason"] = f"{reason}. {_NO_WAY_ROUND}"
        else:
            outcome["reason"] = f"the automatic review leaves it to a person: {verdict.rationale}"
        if tripped:
            reason = f"{tripped}, so the turn ends; the last: {verdict.rationale}"
            outcome["decision"] = "cancel"
            outcome["reason"], outcome["rule"] = reason, "circuit breaker"
            if self._settings.is_strict:
                outcome["errorInfo"] = "tooManyDenials"
            return outcome
        if verdict.outcome == "escalate":
            outcome["escalates"] = True
        return outcome

    def _details(
        self, context: ReviewContext, finding: _Finding, review_id: str
    ) -> dict[str, object]:
        details: dict[str, object] = {"reviewId": review_id}
        if finding.verdict is not None:
            details |= {
                "riskLevel": finding.verdict.risk,
                "userAuthorization": finding.verdict.authorization,
                "outcome": finding.verdict.outcome,
            }
        if finding.answer is not None:
            default = "" if context.turn is None else context.turn.model
            details["model"] = self._settings.model or default
            details["requests"] = finding.answer.requests
            details["usage"] = finding.answer.usage
            if finding.answer.lookups:
                details["lookups"] = finding.answer.lookups
        return details


class _Report:
    """Tells clients that a review began and how it ended."""

    def __init__(self, request: ReviewRequest, context: ReviewContext, action: Action) -> None:
        from ferrule_reviewer_guardian.action import shown_action

        self.review_id = str(uuid.uuid4())
        self._emit = context.emit
        self._params: dict[str, object] = {
            "threadId": request.thread_id,
            "turnId": request.turn_id,
            "reviewId": self.review_id,
            "targetItemId": request.call.call_id,
            "startedAtMs": time.time_ns() // 1_000_000,
            "action": shown_action(request, action),
        }

    def started(self) -> None:
        review: AutoReview = {
            "status": "inProgress",
            "riskLevel": None,
            "userAuthorization": None,
            "rationale": None,
        }
        self._tell("started", {"review": review})

    def completed(self, finding: _Finding) -> None:
        verdict = finding.verdict
        endings = {"allow": "approved", "deny": "denied", "escalate": "escalated"}
        failed = "timedOut" if finding.timed_out else "failed"
        ending = failed if verdict is None else endings[verdict.outcome]
        review = {
            "status": ending if ending in _KNOWN_ENDINGS else "aborted",
            "ending": ending,
            "riskLevel": None if verdict is None else verdict.risk,
            "userAuthorization": None if verdict is None else verdict.authorization,
            "rationale": finding.failure if verdict is None else verdict.rationale,
        }
        ended = time.time_ns() // 1_000_000
        told = {"review": review, "completedAtMs": ended, "decisionSource": "agent"}
        self._tell("completed", told)

    def _tell(self, what: str, more: dict[str, object]) -> None:
        if self._emit is not None:
            method = f"item/autoApprovalReview/{what}"
            self._emit(cast("Event", {"method": method, "params": {**self._params, **more}}))


def _is_attended(context: ReviewContext) -> bool:
    """Whether somebody may be there to decide what is left open."""
    import os

    return context.ask_client is not None or os.isatty(0) or os.isatty(2)
