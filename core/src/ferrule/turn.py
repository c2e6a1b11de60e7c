"""The turn loop: samples, follows up until the model stops asking, and ends well formed."""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING, Final

import anyio

from ferrule.compaction import HistoryKeeper
from ferrule.context import message
from ferrule.conversation import input_texts
from ferrule.ids import uuid7
from ferrule.orchestrator import ended_item
from ferrule.sampling import Sampler
from ferrule.turn_diff import TurnDiff
from ferrule.user_command import run_user_command
from ferrule_hookspecs.errors import FerruleError, ProviderError
from ferrule_hookspecs.hooks import Continue, PromptReply
from ferrule_hookspecs.provider import ModelRequest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ferrule.conversation import Conversation
    from ferrule.session_parts import SessionParts
    from ferrule.stream_reader import Sample
    from ferrule.turn_job import Input
    from ferrule.user_command import UserCommand
    from ferrule_hookspecs.history import HistoryItem
    from ferrule_hookspecs.items import AgentMessageItem, UserMessageItem
    from ferrule_hookspecs.threads import TokenUsage, Turn, TurnError

_STOP_HOOK_CAP: Final = 8
_SETTLING_S: Final = 5.0
_INTERRUPTED_NOTE: Final = (
    "<turn_interrupted>\nThe previous turn was interrupted before it was finished. Calls that were"
    " running were ended; they may have had part of their effect. Look before you repeat them.\n"
    "</turn_interrupted>"
)


class PromptBlockedError(FerruleError):
    """A plugin refused the user's input."""


class TurnLoop:
    """One turn of a session."""

    def __init__(
        self,
        parts: SessionParts,
        conversation: Conversation,
        turn_id: str,
        *,
        output_schema: Mapping[str, object] | None = None,
        takes_input: bool = True,
    ) -> None:
        self.turn_id = turn_id
        self.last_message: str | None = None
        self.takes_input = takes_input
        self.scope = anyio.CancelScope()
        self._parts = parts
        self._conversation = conversation
        self._output_schema = output_schema
        self._diff = TurnDiff(parts, turn_id)
        self._sampler = Sampler(parts, conversation, turn_id, self._diff, self._count)
        self._info = parts.turn_info(turn_id)
        self._steered: deque[Input] = deque()
        self._untaken: Input | None = None
        self._injected: list[HistoryItem] = []
        self._answer: AgentMessageItem | None = None
        self._keeper = HistoryKeeper(parts, conversation, self._request)
        self._inputs: list[str] = []
        self._started = time.time()

    def expect(self, given: Input | None) -> None:
        """Keep what the turn is going to be run with; it is left over until it is taken."""
        self._untaken = given

    def steer(self, given: Input) -> None:
        """Add input; it goes to the model with the next request."""
        self._steered.append(given)

    def inject(self, items: Sequence[HistoryItem]) -> None:
        """Add to the history what asks for no answer; the model reads it with the next request."""
        self._injected += items

    def left_over(self) -> Sequence[Input]:
        """Input that came too late for this turn."""
        first = () if self._untaken is None else (self._untaken,)
        return (*first, *self._steered)

    def as_turn(self, status: str = "inProgress", error: TurnError | None = None) -> Turn:
        """Describe the turn in wire form."""
        ended = None if status == "inProgress" else int(time.time())
        turn: Turn = {
            "id": self.turn_id,
            "status": status,  # pyright: ignore[reportAssignmentType] -- callers pass literals
            "items": [] if self._answer is None else [self._answer],
            "itemsView": "notLoaded" if self._answer is None else "summary",
            "error": error,
            "startedAt": int(self._started),
            "completedAt": ended,
            "durationMs": None if ended is None else int((time.time() - self._started) * 1000),
        }
        return turn

    async def run(self, given: Input) -> None:
        """Run the turn until the model has nothing more to ask.

        Raises:
            FerruleError: The turn failed; the message is the user's.
        """
        self.expect(given)
        await self._parts.hooks.observe("ferrule_turn_start", turn=self._info)
        await self._keeper.keep_short()
        await self._take_input(given)
        await self._follow_up()

    def conclude(self, answer: AgentMessageItem | None) -> None:
        """Have another answer than the last thing that the model said."""
        self._answer, self.last_message = answer, None if answer is None else answer["text"]

    async def run_command(self, command: UserCommand) -> None:
        """Run a turn for a user's own command; the model is only asked where input comes."""
        await self._parts.hooks.observe("ferrule_turn_start", turn=self._info)
        await self.accompany(command)
        if await self._take_steered():
            await self._follow_up()

    async def accompany(self, command: UserCommand) -> None:
        """Run a user's command; the model reads of it with the next request."""
        await self._diff.mark()
        self.inject([await run_user_command(self._parts, self.turn_id, command)])
        await self._diff.update()

    async def _follow_up(self) -> None:
        """Sample until the model has nothing more to ask."""
        stops = 0
        while True:
            sample = await self._sample()
            if await self._take_steered() or sample.has_calls or sample.end_turn is False:
                await self._keeper.keep_short()
                continue
            prompts = await self._stop_prompts() if stops < _STOP_HOOK_CAP else []
            for prompt in prompts:
                self._conversation.append(message("user", prompt))
            if not await self._take_steered() and not prompts:
                return
            stops += bool(prompts)

    async def compact_only(self) -> None:
        """Run a turn that does nothing but compact."""
        await self._keeper.compact("manual")

    async def finish(self, status: str, error: TurnError | None) -> Turn:
        """Close what is open, store how the turn ended, and tell everybody."""
        recorder = self._parts.recorder
        if status == "interrupted":
            self._conversation.abort_open_calls("aborted by user")
            self._conversation.append(message("user", _INTERRUPTED_NOTE))
        else:
            self._conversation.abort_open_calls("aborted")
        self._take_injected()
        for item in recorder.open_items():
            recorder.item_completed(ended_item(item, "failed", "aborted"))
        await self._diff.update()
        with anyio.move_on_after(_SETTLING_S):  # what was cut short is in the ledger, too
            await self._conversation.ledger.settle(self._parts)
        turn = self.as_turn(status, error)
        await recorder.turn_completed(turn, self.last_message)
        await self._parts.hooks.observe("ferrule_turn_end", turn=self._info, outcome=turn)
        return turn

    @property
    def input_texts(self) -> tuple[str, ...]:
        """The text of what the user sent in this turn."""
        return tuple(self._inputs)

    async def _take_input(self, given: Input) -> None:
        content = given.content
        replies = await self._parts.hooks.gather(
            "ferrule_prompt_submit", prompt=content, turn=self._info
        )
        self._untaken = None
        answers = [(name, reply) for name, reply in replies if isinstance(reply, PromptReply)]
        for name, reply in answers:
            if reply.block_reason is not None:
                raise PromptBlockedError(f"the input was refused by {name}: {reply.block_reason}")
        if content:
            self._show_input(given)
        for _, reply in answers:
            if reply.context:
                self._conversation.append(message(reply.role, reply.context))

    def _show_input(self, given: Input) -> None:
        item: UserMessageItem = {
            "type": "userMessage",
            "id": uuid7(),
            "content": list(given.content),
        }
        if given.client_id is not None:
            item["clientId"] = given.client_id
        self._inputs += input_texts(given.content)
        self._conversation.take_input(given.content)
        self._parts.recorder.item_started(item)
        self._parts.recorder.item_completed(item)

    def _take_injected(self) -> None:
        injected, self._injected = self._injected, []
        for item in injected:
            self._conversation.append(item)

    async def _take_steered(self) -> bool:
        self._take_injected()
        taken = False
        while self._steered:
            given = self._steered.popleft()
            self.expect(given)  # else it would be gone where an interrupt comes meanwhile
            try:
                await self._take_input(given)
                taken = True
            except PromptBlockedError as error:
                self._parts.recorder.warning(str(error))
        return taken

    async def _sample(self) -> Sample:
        try:
            sample = await self._sampler.sample(self._request)
        except ProviderError as error:
            await self._keeper.recover(error)
            sample = await self._sampler.sample(self._request)
        if sample.answer is not None:
            self._answer = sample.answer
            self.last_message = sample.answer["text"]
        return sample

    def _count(self, usage: TokenUsage) -> None:
        self._conversation.gauge.measured(usage, self._parts.settings)
        has_open_calls = self._conversation.has_open_calls
        self._parts.budgets.count(self._parts, usage, has_open_calls=has_open_calls)

    async def _stop_prompts(self) -> list[str]:
        answers = await self._parts.hooks.gather(
            "ferrule_turn_stop", turn=self._info, last_message=self.last_message
        )
        return [answer.prompt for _, answer in answers if isinstance(answer, Continue)]

    def _request(self) -> ModelRequest:
        self._parts.budgets.check()
        self._conversation.gauge.asking(len(self._conversation.items))
        request = next_request(self._parts, self._conversation, self.turn_id)
        return request._replace(output_schema=self._output_schema)


def next_request(parts: SessionParts, conversation: Conversation, turn_id: str) -> ModelRequest:
    """Put together what the model is asked next."""
    settings, told = parts.settings, parts.offer.told()
    return ModelRequest(
        thread_id=parts.context.thread_id,
        turn_id=turn_id,
        model=settings.model,
        input=tuple(conversation.items),
        tools=told.tools,
        reasoning_effort=settings.reasoning_effort,
        reasoning_summary=settings.reasoning_summary,
        verbosity=settings.verbosity,
        service_tier=settings.service_tier,
        model_info=settings.model_info,
        special_tools=told.special,
    )
