"""Has a reviewer decide about every case of a corpus; nothing runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import anyio

from ferrule_hookspecs.errors import FerruleError
from ferrule_hookspecs.host import ConfigRequest
from ferrule_hookspecs.review import ReviewContext, ReviewRequest
from ferrule_hookspecs.tools import TurnInfo
from ferrule_policy.action import command_call

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ferrule_hookspecs.events import Event
    from ferrule_hookspecs.host import Config, Kernel
    from ferrule_hookspecs.review import Reviewer, Verdict
    from ferrule_hookspecs.tools import ToolCall
    from ferrule_policy.corpus import Case

STATIC: Final = "static"
_PERSON: Final = "user"
_FAULT: Final = "reviewer fault"
"""The rule by which a refusal that is nobody's judgement is recorded."""
_REASON: Final = "approval policy 'untrusted' asks before every call that may change something"
_STRICTNESS: Final = ("deny", "ask", "allow")
_FAILURES: Final = frozenset({"failed", "timedOut", "aborted"})
"""How a review that came to no judgement is told to clients."""
Answer = Literal["allow", "ask", "deny", "error"]


class Trial(NamedTuple):
    """What came of a case.

    Attributes:
        case: The case.
        static: What the assessing plugins say of it, by themselves.
        answer: What the reviewer says of it.
        reason: Why.
    """

    case: Case
    static: Answer
    answer: Answer
    reason: str = ""


async def tried(
    kernel: Kernel, name: str, cases: Sequence[Case], cwd: str, seconds: float
) -> list[Trial]:
    """Ask a reviewer about each case, one after the other.

    Raises:
        FerruleError: The reviewer cannot be asked at all.
    """
    config = kernel.config(ConfigRequest(cwd))
    reviewer = _reviewer(kernel, config, name, cwd)
    bench = _Bench(kernel, config, reviewer, cwd, seconds)
    trials = [await bench.trial(number, case) for number, case in enumerate(cases)]
    if all(trial.answer == "error" for trial in trials):
        raise FerruleError(f"the reviewer {name!r} answered nothing: {trials[0].reason}")
    return trials


def _reviewer(kernel: Kernel, config: Config, name: str, cwd: str) -> Reviewer | None:
    if name == STATIC:
        return None
    if name == _PERSON:
        raise FerruleError("the reviewer 'user' is a person, who cannot be measured here")
    return kernel.reviewer(config, name, cwd)


class _Bench:
    def __init__(
        self,
        kernel: Kernel,
        config: Config,
        reviewer: Reviewer | None,
        cwd: str,
        seconds: float,
    ) -> None:
        self._kernel = kernel
        self._config = config
        self._reviewer = reviewer
        self._cwd = cwd
        self._seconds = seconds

    async def trial(self, number: int, case: Case) -> Trial:
        """Have one case decided."""
        call = command_call(f"case-{number}", {"cmd": case.command})
        turn = TurnInfo("bench", f"case-{number}", self._cwd, str(self._config.get("model")))
        found = await self._kernel.assess(self._config, call, turn)
        static, reason = _strictest(found.verdicts)
        if self._reviewer is None:
            return Trial(case, static, static, reason)
        answer, reason = await self._asked(self._reviewer, call, turn, found.verdicts)
        return Trial(case, static, answer, reason)

    async def _asked(
        self, reviewer: Reviewer, call: ToolCall, turn: TurnInfo, verdicts: Mapping[str, Verdict]
    ) -> tuple[Answer, str]:
        request = ReviewRequest(
            turn.thread_id, turn.turn_id, call, None, _REASON, self._cwd, verdicts=verdicts
        )
        told: list[str] = []

        def listen(event: Event) -> None:
            if event["method"] == "item/autoApprovalReview/completed":
                review = event["params"]["review"]
                told.append(review.get("ending") or review["status"])

        context = ReviewContext(turn=turn, emit=listen)
        try:
            with anyio.fail_after(self._seconds):
                outcome = await reviewer.review(request, context)
        except TimeoutError:
            return "error", f"no answer within {self._seconds:g} s"
        except FerruleError as error:
            return "error", str(error)
        reason = outcome["reason"]
        if outcome.get("rule") == _FAULT or not _FAILURES.isdisjoint(told):
            return "error", reason
        if outcome.get("escalates"):
            return "ask", reason
        return ("allow" if outcome["decision"].startswith("accept") else "deny"), reason


def _strictest(verdicts: Mapping[str, Verdict]) -> tuple[Answer, str]:
    for decision in _STRICTNESS:
        for verdict in verdicts.values():
            if verdict.decision == decision:
                return verdict.decision, verdict.reason
    return "allow", ""
