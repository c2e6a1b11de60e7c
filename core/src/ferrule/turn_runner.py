"""The turns of one session, one at a time: begun, run to an end that is stored, and told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, cast

import anyio

from ferrule.containment import FAULTS
from ferrule.context_changes import tell_changes
from ferrule.ids import uuid7
from ferrule.session_view import keep_files
from ferrule.turn import TurnLoop
from ferrule.turn_failure import failure_of
from ferrule_hookspecs.errors import FerruleError
from ferrule_hookspecs.hooks import Notification

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from anyio.abc import TaskGroup

    from ferrule.conversation import Conversation
    from ferrule.review_turn import ReviewTurn
    from ferrule.session_parts import SessionParts, Settings
    from ferrule.turn_job import Input, TurnJob
    from ferrule.user_command import UserCommand
    from ferrule_hookspecs.events import Outgoing
    from ferrule_hookspecs.threads import Thread, TurnError

Status = Literal["completed", "interrupted", "failed"]


class TurnRunner:
    """Runs the turns of a session.

    Attributes:
        running: The turn that is under way.
        was_interrupted: Whether the last turn was.
    """

    def __init__(
        self,
        thread: Thread,
        parts: SessionParts,
        conversation: Conversation,
        pass_on: Callable[[Input], bool],
    ) -> None:
        """Take the parts; `pass_on` begins another turn with input, if it still can."""
        self.running: TurnLoop | None = None
        self.was_interrupted = False
        self._review: ReviewTurn | None = None
        self._preparing = anyio.CancelScope()
        self._thread = thread
        self._parts = parts
        self._conversation = conversation
        self._pass_on = pass_on
        self._beside: TaskGroup | None = None
        self._idle = anyio.Event()
        self._idle.set()

    async def idle(self) -> None:
        """Wait until no turn runs."""
        await self._idle.wait()

    @property
    def joinable(self) -> TurnLoop | None:
        """The running turn, where it still takes input."""
        turn = self.running
        if turn is None or not turn.takes_input or turn.scope.cancel_called:
            return None
        return turn

    @property
    def is_reviewing(self) -> bool:
        """Whether the running turn is a review, with a conversation of its own."""
        return self.running is not None and self._review is not None

    async def prepared(self, job: Awaitable[TurnJob]) -> TurnJob:
        """Wait until a turn is ready to begin, or the session closes.

        Raises:
            FerruleError: It cannot begin.
        """
        with anyio.CancelScope() as self._preparing:
            return await job
        raise FerruleError("the turn was interrupted before it began")

    def interrupt(self) -> None:
        """End the running turn, or what prepares one."""
        self._preparing.cancel()
        if self.running is not None:
            self.was_interrupted = True
            self.running.scope.cancel()

    async def begin(self, job: TurnJob, settings: Settings, group: TaskGroup) -> TurnLoop:
        """Begin a turn once the one before is over.

        Raises:
            FerruleError: It would cost a review that runs, or a review would cost what runs.
        """
        self.refuse_loss(is_review=job.review is not None)
        if self.running is not None:
            self.running.scope.cancel()
        await self._idle.wait()
        self._idle = anyio.Event()
        self.was_interrupted = False
        self._parts.settings = settings
        parts, conversation, self._review = self._parts, self._conversation, None
        if job.review is not None:
            from ferrule.review_turn import ReviewTurn  # most sessions review nothing

            self._review = ReviewTurn(job.review, parts, conversation)
            parts, conversation = self._review.parts, self._review.conversation
        turn = TurnLoop(
            parts,
            conversation,
            uuid7(),
            output_schema=job.output_schema,
            takes_input=job.input is not None or job.command is not None,
        )
        turn.expect(job.input)
        self.running = turn
        group.start_soon(self._run, turn, job, name=f"turn {turn.turn_id}")
        return turn

    def refuse_loss(self, *, is_review: bool) -> None:
        """Let nothing but an interrupt end a review, and no review end anything else.

        Raises:
            FerruleError: The turn, or the review, that is to begin would do so.
        """
        if self.running is None or self.running.scope.cancel_called:
            return
        if self.is_reviewing:
            raise FerruleError("a review runs; wait for its end, or interrupt it first")
        if is_review:
            raise FerruleError("a turn runs; wait for its end, or interrupt it, then review")

    def start_command(self, command: UserCommand) -> None:
        """Run a user's command beside what the running turn does; the turn waits for it."""
        turn, beside = self.running, self._beside
        if turn is not None and beside is not None:
            beside.start_soon(turn.accompany, command)

    async def _run(self, turn: TurnLoop, job: TurnJob) -> None:
        status: Status = "interrupted"
        error: TurnError | None = None
        try:
            with turn.scope:
                failure = await self._guarded(turn, job)
                status, error = ("completed", None) if failure is None else failure
        finally:
            with anyio.CancelScope(shield=True):
                await self._end(turn, status, error)

    async def _end(self, turn: TurnLoop, status: Status, error: TurnError | None) -> None:
        self._hand_over(turn.left_over(), status)
        self.running = None
        recorder = self._parts.recorder
        try:
            if error is not None and status == "failed":
                recorder.status({"type": "systemError"})
                recorder.error(error, will_retry=False)
            await turn.finish(status, error)
            await self._notify(turn, status)
        except Exception as fault:  # noqa: BLE001 -- a store is a plugin: the session goes on
            self._report_unstored(turn, fault)
        self._idle.set()

    def _hand_over(self, inputs: Sequence[Input], status: Status) -> None:
        """Begin the next turn with input the last one did not take; an interrupt stops it, too."""
        reason = "the turn was interrupted"
        if status != "interrupted":
            reason = "the thread closes, or too many operations wait"
            inputs = [each for each in inputs if not self._pass_on(each)]
        parts = [part for each in inputs for part in each.content]
        if parts:
            texts = "; ".join(repr(part["text"]) for part in parts if part["type"] == "text")
            self._parts.recorder.warning(f"input was not taken: {texts}: {reason}; send it again")

    async def _guarded(self, turn: TurnLoop, job: TurnJob) -> tuple[Status, TurnError] | None:
        """Run the turn; returns how it failed, if it did."""
        try:
            self._parts.recorder.turn_started(turn.as_turn())
            # An interrupt waits this moment: else the input, which comes behind it, would be gone.
            with anyio.CancelScope(shield=True):
                if self._parts.reloading is not None:
                    await self._parts.reloading.take_up()
                await tell_changes(self._parts, self._conversation, turn.turn_id)
            if job.refusal is not None:
                raise job.refusal
            await keep_files(self._parts, turn.turn_id)
            # A review may ask another model, whose price counts.
            parts = self._parts if self._review is None else self._review.parts
            budgets = parts.budgets.turn(parts, job.budget)
            async with budgets, anyio.create_task_group() as beside:
                self._beside = beside
                if job.command is not None:
                    await turn.run_command(job.command)
                elif job.input is not None:
                    await turn.run(job.input)
                elif self._review is not None:
                    await self._review.run(turn)
                else:
                    await turn.compact_only()
        except FAULTS as error:  # the session outlives whatever ends a turn
            turn.expect(None)  # the failure answers the input: it must not begin another turn
            return failure_of(error)
        finally:
            self._beside = None
        return None

    def _report_unstored(self, turn: TurnLoop, fault: Exception) -> None:
        """Tell that the end of a turn could not be written; nothing of it is acknowledged."""
        self._conversation.abort_unstored("aborted")
        error: TurnError = {
            "message": f"the end of the turn could not be stored: {fault}",
            "codexErrorInfo": "other",
        }
        self._parts.recorder.status({"type": "systemError"})
        params = {"threadId": self._thread["id"], "turn": turn.as_turn("failed", error)}
        self._parts.recorder.queue.put(
            cast("Outgoing", {"method": "turn/completed", "params": params})
        )

    async def _notify(self, turn: TurnLoop, status: Status) -> None:
        if status != "completed":
            return
        await self._parts.hooks.observe(
            "ferrule_notify",
            notification=Notification(
                "turn_complete",
                self._thread["id"],
                turn.turn_id,
                self._parts.settings.cwd,
                turn.input_texts,
                turn.last_message,
                source=self._thread["source"],
            ),
            context=self._parts.context,
        )
