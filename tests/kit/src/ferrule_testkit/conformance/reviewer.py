"""The suite for reviewers.

from ferrule_testkit import ReviewerConformance

class TestDesk(ReviewerConformance):
    settings = {"desk": "acme"}

    def make(self, context):
        return Desk(context)
"""

from __future__ import annotations

import copy
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Final

import anyio
import anyio.lowlevel
import pytest

from ferrule_hookspecs.errors import FerruleError, PluginError, ProviderError
from ferrule_hookspecs.plugins import PluginContext
from ferrule_hookspecs.provider import Completed, ItemDone, ModelEvent, ModelRequest
from ferrule_hookspecs.review import ReviewContext, Reviewer, ReviewOutcome, ReviewRequest
from ferrule_testkit.conformance import actions
from ferrule_testkit.conformance.odd_values import HOSTILE_TEXTS
from ferrule_testkit.conformance.starts import noted_starts
from ferrule_testkit.conformance.suite import Conformance, drive, must, snapshot

_DECISIONS: Final = ("accept", "acceptForSession", "decline", "cancel")
_ACCEPTING: Final = _DECISIONS[:2]
_TURNS_BEFORE_CANCEL: Final = (0, 1, 3, 30)
NONSENSE: Final = ({}, {"decision": "yes"}, {"decision": None}, {"decision": ["accept"]}, {"x": 1})
"""What a client may answer that is no answer."""


class ReviewerConformance(Conformance):
    """What every reviewer has to do; whoever it asks is scripted by the suite.

    Attributes:
        is_found_by: The name that the session asks for it by, the context's `name`.
        model_says: What its model answers to a review, where it asks one.
    """

    is_found_by: ClassVar[str] = ""
    model_says: ClassVar[str] = "no opinion"

    def make(self, context: PluginContext) -> Reviewer:
        """Make the reviewer under test."""
        raise NotImplementedError("say with `make` which reviewer is tested")

    def modules(self, context: PluginContext) -> Sequence[str]:
        """The module of what `make` makes."""
        return (type(self.make(context)).__module__,)

    @pytest.fixture
    def reviewer(self, context: PluginContext) -> Reviewer:
        """The reviewer under test."""
        return self.make(context._replace(name=self.is_found_by))

    @pytest.fixture
    def plain(self, workspace: Path) -> ReviewRequest:
        """A question about an ordinary command."""
        call = actions.function_call("exec_command", actions.PLAIN["command"])
        return actions.question(call, str(workspace))

    def test_it_has_a_name(self, reviewer: Reviewer) -> None:
        must(isinstance(reviewer.name, str), "a reviewer has a name", "review.Reviewer.name")
        must(reviewer.name.strip(), "its name is not empty", "review.Reviewer.name")

    def test_making_one_starts_and_writes_nothing(
        self, context: PluginContext, workspace: Path
    ) -> None:
        context = context._replace(name=self.is_found_by)
        self.make(context)
        before = snapshot(workspace.parent)
        with noted_starts() as noted:
            self.make(context)
        must(not noted, f"making it {', '.join(noted)}", "review.Reviewer")
        must(snapshot(workspace.parent) == before, "making it writes", "review.Reviewer")

    def test_every_kind_of_question_gets_a_decision_in_its_form(
        self, reviewer: Reviewer, workspace: Path
    ) -> None:
        async def ask_all() -> None:
            for request in actions.requests(str(workspace)):
                outcome = await self._asked(reviewer, request, self._context(workspace))
                if outcome is not None:
                    check_outcome(outcome, request)

        drive(ask_all)

    def test_nothing_that_is_asked_about_is_changed(
        self, reviewer: Reviewer, plain: ReviewRequest, workspace: Path
    ) -> None:
        before, files = copy.deepcopy(plain.item), snapshot(workspace)
        drive(lambda: self._asked(reviewer, plain, self._context(workspace)))
        must(plain.item == before, "a reviewer changes nothing", "review.Reviewer.review")
        must(snapshot(workspace) == files, "a reviewer changes nothing", "review.Reviewer.review")

    @pytest.mark.parametrize("text", HOSTILE_TEXTS, ids=range(len(HOSTILE_TEXTS)))
    def test_words_in_an_action_do_not_turn_a_refusal_into_consent(
        self, reviewer: Reviewer, plain: ReviewRequest, workspace: Path, text: str
    ) -> None:
        call = actions.function_call("exec_command", {"cmd": f"make install {text}"})
        worse = actions.question(call, str(workspace))

        async def both() -> tuple[ReviewOutcome | None, ReviewOutcome | None]:
            context = self._context(workspace)
            first = await self._asked(reviewer, plain, context)
            return first, await self._asked(reviewer, worse, context)

        first, second = drive(both)
        wish = "what an action says about itself is no reason to accept it"
        must(is_accepted(first) or not is_accepted(second), wish, "review.Reviewer.review")

    @pytest.mark.parametrize("answer", NONSENSE, ids=str)
    def test_an_answer_that_makes_no_sense_accepts_nothing(
        self,
        reviewer: Reviewer,
        plain: ReviewRequest,
        workspace: Path,
        answer: Mapping[str, object],
    ) -> None:
        asked = _Asked(answer=answer, model_says=json.dumps(answer))
        outcome = drive(lambda: self._asked(reviewer, plain, self._context(workspace, asked)))
        if asked.count:
            wish = "whoever cannot be understood has not agreed"
            must(not is_accepted(outcome), wish, "review.ReviewOutcome.failed")

    def test_whoever_cannot_be_asked_has_not_agreed(
        self, reviewer: Reviewer, plain: ReviewRequest, workspace: Path
    ) -> None:
        asked = _Asked(fails=True)
        outcome = drive(lambda: self._asked(reviewer, plain, self._context(workspace, asked)))
        if asked.count:
            must(not is_accepted(outcome), "a fault is no consent", "review.Reviewer")

    def test_questions_at_the_same_time_are_answered_like_one_after_another(
        self, reviewer: Reviewer, plain: ReviewRequest, workspace: Path
    ) -> None:
        outcomes: list[ReviewOutcome | None] = []

        async def at_once() -> ReviewOutcome | None:
            context = self._context(workspace)
            alone = await self._asked(reviewer, plain, context)

            async def one() -> None:
                outcomes.append(await self._asked(reviewer, plain, context))

            async with anyio.create_task_group() as group:
                for _ in range(8):
                    group.start_soon(one)
            return alone

        alone = drive(at_once)
        must(len(outcomes) == 8, "each question gets an answer", "review.Reviewer.review")
        for outcome in outcomes:
            same = is_accepted(outcome) == is_accepted(alone)
            must(same, "the same question gets the same answer", "review.Reviewer.review")

    @pytest.mark.parametrize("turns", _TURNS_BEFORE_CANCEL)
    def test_a_question_that_is_withdrawn_ends_at_once(
        self, reviewer: Reviewer, plain: ReviewRequest, workspace: Path, turns: int
    ) -> None:
        asked = _Asked(hangs=True)

        async def ask_and_withdraw() -> None:
            context = self._context(workspace, asked)
            async with anyio.create_task_group() as group:
                group.start_soon(self._asked, reviewer, plain, context)
                for _ in range(turns):
                    await anyio.lowlevel.checkpoint()
                group.cancel_scope.cancel()

        drive(ask_and_withdraw)

    async def _asked(
        self, reviewer: Reviewer, request: ReviewRequest, context: ReviewContext
    ) -> ReviewOutcome | None:
        """The outcome; None where the reviewer says that it cannot decide, which is a refusal."""
        try:
            return await reviewer.review(request, context)
        except FerruleError:
            return None

    def _context(self, workspace: Path, asked: _Asked | None = None) -> ReviewContext:
        asked = asked or _Asked(model_says=self.model_says)
        return ReviewContext(
            ask_client=asked.client,
            reviewer=lambda name: _Member(name, asked),
            turn=actions.turn(str(workspace)),
            provider=lambda name: _Model(asked),
            emit=lambda event: None,
        )


def is_accepted(outcome: ReviewOutcome | None) -> bool:
    """Whether a call may run by an outcome."""
    return outcome is not None and outcome["decision"] in _ACCEPTING


def check_outcome(outcome: ReviewOutcome, request: ReviewRequest) -> None:
    """Fail where an outcome is not what the kernel can record and act on."""
    where = "review.ReviewOutcome"
    must(isinstance(outcome, dict), f"an outcome is a table, not {outcome!r}", where)
    decision = outcome.get("decision")
    must(decision in _DECISIONS, f"{decision!r} is one of {', '.join(_DECISIONS)}", where)
    for key in ("reviewer", "reason"):
        must(isinstance(outcome.get(key), str), f"{key} is a text", where)
    must(outcome["reviewer"].strip(), "an outcome names who decided", where)
    refuses = decision not in _ACCEPTING
    must(outcome["reason"].strip() or not refuses, "a refusal says why", where)
    must(refuses or not outcome.get("failed"), "`failed` goes with decline", where)
    must(refuses or not outcome.get("escalates"), "`escalates` goes with decline", where)
    try:
        json.dumps(outcome)
    except (TypeError, ValueError):
        must(False, "an outcome is JSON: it is recorded", where)
    offered = [[each.kind, *each.value] for each in request.amendments]
    accepted = outcome.get("amendment")
    must(accepted is None or accepted in offered, "only what was offered is amended", where)


class _Asked:
    """Whom a reviewer may ask: all of them say, fail or hang the same."""

    def __init__(
        self,
        *,
        answer: Mapping[str, object] | None = None,
        model_says: str = "",
        fails: bool = False,
        hangs: bool = False,
    ) -> None:
        self.answer = {"decision": "decline"} if answer is None else answer
        self.model_says = model_says
        self.count = 0
        self._fails = fails
        self._hangs = hangs

    async def client(self, question: object) -> Mapping[str, object]:
        await self.arrive(FerruleError("nobody is there"))
        return self.answer

    async def arrive(self, error: FerruleError) -> None:
        self.count += 1
        await anyio.lowlevel.checkpoint()
        if self._hangs:
            await anyio.sleep_forever()
        if self._fails:
            raise error


class _Member:
    def __init__(self, name: str, asked: _Asked) -> None:
        self.name = name
        self._asked = asked

    async def review(self, request: ReviewRequest, context: ReviewContext) -> ReviewOutcome:
        await self._asked.arrive(FerruleError(f"{self.name} is out of order"))
        given = {"reviewer": self.name, "reason": "it is said so", **self._asked.answer}
        if given.get("decision") not in _DECISIONS:  # the kernel lets nothing else through
            raise PluginError(f"the reviewer answered {given.get('decision')!r}")
        return given  # pyright: ignore[reportReturnType] -- nonsense is part of the test


class _Model:
    name = "scripted"
    stream_max_retries = 0

    def __init__(self, asked: _Asked) -> None:
        self._asked = asked

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        await self._asked.arrive(ProviderError("the model is out of order"))
        part = {"type": "output_text", "text": self._asked.model_says}
        yield ItemDone({"type": "message", "role": "assistant", "content": [part]})  # pyright: ignore[reportArgumentType] -- a plain dict in its form
        yield Completed("r1", None)

    async def aclose(self) -> None:
        return
