"""One run on an open session: the turn, its repair round, and what an interrupt leaves to do."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, cast

import anyio

from ferrule_exec.errors import error_text
from ferrule_exec.outcome import (
    Outcome,
    Output,
    Spent,
    Status,
    is_usage,
    unknown_cost,
)
from ferrule_hookspecs.errors import FerruleError
from ferrule_hookspecs.token_counts import add_usage, no_usage

if TYPE_CHECKING:
    from anyio.abc import TaskGroup

    from ferrule_exec.schema import OutputSchema
    from ferrule_exec.stream import Stream
    from ferrule_hookspecs.change_review import ReviewTarget
    from ferrule_hookspecs.events import Outgoing
    from ferrule_hookspecs.host import Session
    from ferrule_hookspecs.items import UserInput
    from ferrule_hookspecs.ops import ReviewStart, TurnStart, TurnStartParams
    from ferrule_hookspecs.threads import Cost, TokenUsage, Turn

INTERRUPT_S: Final = 5.0
"""How long the session may take to record an interrupted turn."""

_BUDGET: Final = "sessionBudgetExceeded"
_INTERRUPTED: Final = "The turn was interrupted."


@dataclass(slots=True)
class _Record:
    """What the events of a run have said so far."""

    last_message: str | None = None
    earlier: TokenUsage = field(default_factory=no_usage)
    turn: TokenUsage = field(default_factory=no_usage)
    thread: TokenUsage = field(default_factory=no_usage)
    reviews: TokenUsage = field(default_factory=no_usage)
    earlier_usd: float | None = 0.0
    cost: Cost = field(default_factory=unknown_cost)

    def note(self, event: Outgoing) -> None:
        params = cast("dict[str, Any]", event["params"])
        if event["method"] == "item/completed" and params["item"]["type"] == "agentMessage":
            self.last_message = params["item"]["text"] or self.last_message
        elif event["method"] == "item/decision":
            used = params["outcome"].get("details", {}).get("usage")
            if is_usage(used):  # what a reviewer's model used; the turn's usage is without it
                self.reviews = add_usage(self.reviews, used)
        elif event["method"] == "thread/tokenUsage/updated":
            self.turn = params["tokenUsage"]["turn"]
            self.thread = params["tokenUsage"]["total"]
            self.cost = params["tokenUsage"].get("cost") or unknown_cost()

    def next_turn(self) -> None:
        self.earlier, self.turn = add_usage(self.earlier, self.turn), no_usage()
        self.earlier_usd = self._run_usd()

    def _run_usd(self) -> float | None:
        turn = self.cost["turnUsd"]
        return None if turn is None or self.earlier_usd is None else self.earlier_usd + turn

    def outcome(self, status: Status, message: str = "") -> Outcome:
        usage = add_usage(self.earlier, self.turn)
        cost = Spent(self._run_usd(), self.cost["totalUsd"])
        return Outcome(status, message, self.last_message, usage, self.thread, cost, self.reviews)


class Conversation:
    """Runs one prompt on a session and shows what happens."""

    def __init__(
        self,
        session: Session,
        output: Output,
        stdout: Stream,
        *,
        schema: OutputSchema | None = None,
        max_wait_s: float | None = None,
    ) -> None:
        self._session = session
        self._events = session.events()
        self._output = output
        self._stdout = stdout
        self._schema = schema
        self._max_wait_s = max_wait_s
        self._watch: TaskGroup | None = None
        self._last_retry: str | None = None
        self._has_given_up = False
        self._record = _Record()
        self._work = anyio.CancelScope(shield=True)
        self._is_over = False
        self._interrupts = 0
        self.has_begun = False

    async def run(self, input_: list[UserInput], review: ReviewTarget | None = None) -> Outcome:
        """Run to the end of the turn, or of a review in its place, and tell the output about it.

        Cancelling interrupts the turn; it is still recorded and shown before this returns.
        """
        outcome = self._record.outcome("interrupted", _INTERRUPTED)
        fault: FerruleError | None = None
        async with anyio.create_task_group() as watch:
            self._watch = watch
            watch.start_soon(self._interrupt_when_cancelled)
            with self._work:
                try:
                    outcome = await self._turns(input_, review)
                except FerruleError as error:
                    fault = error
            self._is_over = True
            if fault is None:
                self._output.ended(outcome)
            watch.cancel_scope.cancel()
        if fault is not None:
            raise fault
        return outcome

    async def _interrupt_when_cancelled(self) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            if not self._is_over:
                self._work.deadline = anyio.current_time() + INTERRUPT_S
                with anyio.CancelScope(shield=True):
                    await self._interrupt()

    async def _interrupt(self) -> None:
        self._interrupts += 1
        await self._session.submit(
            {
                "id": f"interrupt-{self._interrupts}",
                "method": "turn/interrupt",
                "params": {"threadId": self._session.thread["id"], "turnId": ""},
            }
        )

    def _note_retry(self, event: Outgoing) -> None:
        if event["method"] != "error" or not event["params"]["willRetry"]:
            if event["method"].startswith("item/"):
                self._last_retry = None
            return
        is_first, self._last_retry = self._last_retry is None, error_text(event["params"])
        if is_first and self._max_wait_s is not None and self._watch is not None:
            self._watch.start_soon(self._give_up_after, self._max_wait_s)

    async def _give_up_after(self, wait_s: float) -> None:
        await anyio.sleep(wait_s)
        if self._last_retry is not None and not self._is_over:
            self._has_given_up = True
            await self._interrupt()

    async def _turns(self, input_: list[UserInput], review: ReviewTarget | None) -> Outcome:
        if review is not None:
            return self._outcome(await self._review(review))
        outcome = self._outcome(await self._turn("turn-1", input_))
        if self._schema is None or outcome.status != "completed":
            return outcome
        problem = self._schema.problem(outcome.last_message)
        if problem is None:
            return outcome
        from ferrule_exec.schema import correction

        self._record.next_turn()
        repair: list[UserInput] = [{"type": "text", "text": correction(problem)}]
        outcome = self._outcome(await self._turn("turn-2", repair))
        if outcome.status != "completed":
            return outcome
        problem = self._schema.problem(outcome.last_message)
        if problem is None:
            return outcome
        return self._record.outcome(
            "failed", f"The last message does not follow the output schema: {problem}"
        )

    def _outcome(self, turn: Turn) -> Outcome:
        if turn["status"] == "failed":
            error = turn.get("error")
            outcome = self._record.outcome(
                "failed", error["message"] if error else "The turn failed."
            )
            is_budget = error is not None and error.get("codexErrorInfo") == _BUDGET
            return outcome._replace(reason="budget_exceeded") if is_budget else outcome
        if self._has_given_up:
            message = f"gave up after {self._max_wait_s:g} s without an answer: {self._last_retry}"
            return self._record.outcome("failed", message)
        if turn["status"] == "interrupted":
            return self._record.outcome("interrupted", _INTERRUPTED)
        return self._record.outcome("completed")

    async def _turn(self, op_id: str, input_: list[UserInput]) -> Turn:
        params: TurnStartParams = {"threadId": self._session.thread["id"], "input": input_}
        if self._schema is not None:
            params["outputSchema"] = self._schema.schema
        start: TurnStart = {"id": op_id, "method": "turn/start", "params": params}
        await self._session.submit(start)
        return await self._end()

    async def _review(self, target: ReviewTarget) -> Turn:
        start: ReviewStart = {
            "id": "review-1",
            "method": "review/start",
            "params": {"threadId": self._session.thread["id"], "target": target},
        }
        await self._session.perform(start)  # raises where nothing can be reviewed
        return await self._end()

    async def _end(self) -> Turn:
        """Follow the turn to its end."""
        self.has_begun = True
        async for event in self._events:
            if event["method"] == "turn/completed":
                return event["params"]["turn"]
            self._record.note(event)
            self._output.happened(event)
            self._note_retry(event)
            if self._stdout.is_broken and not self._interrupts:
                await self._interrupt()
        raise FerruleError("the session ended before the turn did")
