"""Questions about connections that the commands of one call want to make.

The managed network asks while a command waits for its connection; the question goes the way of
every other one, with the call that caused it. The orchestrator makes one of these per attempt.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import anyio

from ferrule.approval_question import ACCEPTING, Question
from ferrule.approvals import policy_name
from ferrule.ceiling import has_recipes, may_all_ask, network_rules
from ferrule.way_out import Origin
from ferrule_hookspecs.egress import EgressAnswer

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from ferrule.session_parts import SessionParts
    from ferrule_hookspecs.egress import EgressFact, EgressQuestion, HostAccess
    from ferrule_hookspecs.review import ReviewOutcome
    from ferrule_hookspecs.ruling import QuestionKind
    from ferrule_hookspecs.tools import ToolCall


class Asking(NamedTuple):
    """What the orchestrator does for a question.

    Attributes:
        review: Has it decided.
        decided: Records a decision.
        amend: Keeps an accepted amendment.
    """

    review: Callable[[Question], Awaitable[ReviewOutcome]]
    decided: Callable[[ReviewOutcome], None]
    amend: Callable[[Question, ReviewOutcome], Awaitable[None]]


class NetworkApproval:
    """Answers for the connections of one call.

    Attributes:
        cancelled: What to say where a reviewer ended the turn.
    """

    def __init__(
        self,
        parts: SessionParts,
        turn_id: str,
        call: ToolCall,
        asking: Asking,
        scope: anyio.CancelScope,
    ) -> None:
        """Take the call; `scope` ends its attempt where a reviewer ends the turn."""
        self.cancelled: ReviewOutcome | None = None
        self._parts = parts
        self._turn_id = turn_id
        self._call = call
        self._asking = asking
        self._scope = scope
        self._told: set[EgressFact] = set()

    @property
    def origin(self) -> Origin:
        """What the commands of the call are started with."""
        parts = self._parts
        own, is_enabled = network_rules(parts)
        uses_recipes = has_recipes(parts)
        return Origin(
            self._turn_id,
            self._call.call_id,
            parts.recipes.presets if uses_recipes else (),
            (*own, *parts.recipes.rules) if uses_recipes else own,
            self._ask,
            self._tell,
            is_enabled=is_enabled,
        )

    async def _ask(self, question: EgressQuestion) -> EgressAnswer:
        """Answer a question; the same is asked once at a time, so that a yes for all counts."""
        memory = self._parts.memory
        async with memory.host_questions.setdefault(question.access, anyio.Lock()):
            if question.access in memory.hosts:
                return EgressAnswer(accepted=True)
            obstacle = self._obstacle(question)
            if obstacle:
                refused: ReviewOutcome = {
                    "decision": "decline",
                    "reviewer": "policy",
                    "reason": f"{question.reason}; {obstacle}",
                }
                self._asking.decided(refused)
                return EgressAnswer(accepted=False, reason=obstacle)
            return await self._answer(question)

    async def _answer(self, question: EgressQuestion) -> EgressAnswer:
        access = question.access
        asked = Question(
            "network",
            f"{_words(access)}: {question.reason}",
            escalate=False,
            kinds=_kinds(question),
            offered=question.amendments,
            network=access,
        )
        outcome = await self._asking.review(asked)
        self._asking.decided(outcome)
        if outcome["decision"] == "cancel":
            self.cancelled = outcome
            self._scope.cancel()
        if outcome["decision"] not in ACCEPTING or outcome.get("failed"):
            return EgressAnswer(
                accepted=False, reason=f"{outcome['reviewer']}: {outcome['reason']}"
            )
        await self._asking.amend(asked, outcome)
        if outcome["decision"] == "acceptForSession" or outcome.get("amendment"):
            self._parts.memory.hosts.add(access)
        return EgressAnswer(accepted=True)

    def _obstacle(self, question: EgressQuestion) -> str:
        """Why nobody is asked; empty where somebody is."""
        policy = self._parts.settings.approval_policy
        if not may_all_ask(self._parts, _kinds(question)):
            return f"approval policy {policy_name(policy)!r} does not allow asking"
        if self._parts.recorder.running != self._turn_id:
            return "the turn that started the command has ended, so nobody is asked"
        return ""

    def _tell(self, fact: EgressFact) -> None:
        """Record what was allowed and refused, each once; the plugin keeps the whole log."""
        plain = fact._replace(address="", sent=0, received=0)
        if fact.kind == "closed" or plain in self._told:
            return
        self._told.add(plain)
        payload: dict[str, object] = {
            "type": "network_connection",
            "turn_id": self._turn_id,
            "call_id": self._call.call_id,
            "kind": fact.kind,
            "reason": fact.reason,
            "rule": fact.rule,
        }
        if fact.access is not None:
            payload |= fact.access._asdict()
        self._parts.recorder.record("event_msg", payload)


def _kinds(question: EgressQuestion) -> tuple[QuestionKind, ...]:
    return ("rules",) if question.is_ruled else ("sandbox_approval",)


def _words(access: HostAccess) -> str:
    how = {"http": "by http", "https": "by https", "socks5_tcp": "by SOCKS5"}[access.protocol]
    return f"the command wants to connect to {access.host}:{access.port} {how}"
