"""The sampling loop: consumes one model stream and runs its tool calls while it goes on.

A call starts as soon as its item is complete. Results are stored in call order, each as soon as
everything before it has been answered. A broken stream is tried again with backoff; what was
complete before the break is kept, and its calls are not run twice.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio

from ferrule.approval_question import TurnCancelledError
from ferrule.call_gate import CallGate
from ferrule.call_parsing import requested_name, shown_arguments
from ferrule.containment import contained
from ferrule.context import message
from ferrule.orchestrator import Orchestrator, ended_item, refusal
from ferrule.stream_reader import Sample, StreamReader
from ferrule.turn_failure import error_class, provider_failure
from ferrule_hookspecs.errors import FerruleError, ProviderError
from ferrule_hookspecs.provider import (
    ModelEvent,
    ModelRequest,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyio.abc import TaskGroup

    from ferrule.conversation import Conversation
    from ferrule.session_parts import SessionParts
    from ferrule.turn_diff import TurnDiff
    from ferrule_hookspecs.history import AnyCall
    from ferrule_hookspecs.items import DynamicToolCallItem
    from ferrule_hookspecs.threads import TokenUsage
    from ferrule_hookspecs.tools import ToolCall

_BACKOFF_S = 0.2
_CLOSING_S = 5.0


class Sampler:
    """Sends the requests of one turn."""

    def __init__(
        self,
        parts: SessionParts,
        conversation: Conversation,
        turn_id: str,
        diff: TurnDiff,
        count: Callable[[TokenUsage], None],
    ) -> None:
        """Take the parts; `count` is told what each response used, before its calls end."""
        self._diff = diff
        self._count = count
        self._parts = parts
        self._conversation = conversation
        self._orchestrator = Orchestrator(parts, turn_id, conversation)
        self._info = parts.turn_info(turn_id)
        self.turn_id = turn_id

    async def sample(self, request: Callable[[], ModelRequest]) -> Sample:
        """Send a request, trying again where the provider says that it may help.

        Raises:
            ProviderError: The request failed for good.
            TurnCancelledError: A reviewer ended the turn.
        """
        sample = Sample()
        attempt = 0
        current = request()
        await self._parts.hooks.observe("ferrule_request_before", request=current, turn=self._info)
        while True:
            try:
                await self._stream(current, sample)
            except ProviderError as error:
                attempt += 1
                bound = self._parts.provider.stream_max_retries
                if error.max_retries is not None:
                    bound = min(bound, error.max_retries)
                if not error.retryable or attempt > bound:
                    await self._after(current, sample, error)
                    raise
                sample.has_calls = False  # their answers go out with the next attempt
                self._report_retry(error, attempt, bound)
                await anyio.sleep(_delay(error, attempt))
                current = request()
            else:
                await self._after(current, sample, None)
                return sample

    def _report_retry(self, error: ProviderError, attempt: int, bound: int) -> None:
        self._parts.recorder.error(
            {
                "message": f"Reconnecting... {attempt}/{bound}",
                "codexErrorInfo": error_class("responseStreamDisconnected", error.status),
                "additionalDetails": str(error),
            },
            will_retry=True,
        )

    async def _after(
        self, request: ModelRequest, sample: Sample, error: ProviderError | None
    ) -> None:
        await self._parts.hooks.observe(
            "ferrule_request_after",
            request=request,
            items=sample.items,
            usage=sample.usage,
            error=None if error is None else provider_failure(error),
            turn=self._info,
        )

    async def _stream(self, request: ModelRequest, sample: Sample) -> None:
        """Consume one stream to its end; calls that began are awaited even if it breaks."""
        reader = StreamReader(self._parts, self._conversation, sample, self._count)
        calls = CallRunner(self._parts, self._conversation, self._orchestrator, self._diff)
        broken: ProviderError | None = None
        async with anyio.create_task_group() as group:
            try:
                async with self._events(request) as events:
                    async for event in events:
                        if call := reader.take(event):
                            sample.has_calls = True
                            calls.start(group, call)
                        await self._parts.recorder.queue.room()
                broken = None if reader.is_complete else _cut_off()
            except ProviderError as error:
                broken = error
            except BaseException:  # the turn was interrupted, or a reviewer ended it
                reader.cut_short()
                raise
            if broken is not None:
                reader.withdraw()
        for note in calls.notes:
            self._conversation.append(message("developer", note))
        if calls.cancelled is not None:
            raise calls.cancelled
        if broken is not None:
            raise broken

    @asynccontextmanager
    async def _events(self, request: ModelRequest) -> AsyncGenerator[AsyncIterator[ModelEvent]]:
        """Open the stream; it is closed before anything else goes on."""
        stream = self._parts.provider.stream(request)
        try:
            with contained("the model provider"):
                yield stream
        finally:
            if isinstance(stream, AsyncGenerator):
                with anyio.move_on_after(_CLOSING_S, shield=True):
                    await stream.aclose()


def _cut_off() -> ProviderError:
    message = "the stream ended before the response was complete"
    return ProviderError(message, retryable=True, kind="responseStreamDisconnected")


def _delay(error: ProviderError, attempt: int) -> float:
    if error.retry_after_s is not None:
        return error.retry_after_s
    import random

    return _BACKOFF_S * 2 ** (attempt - 1) * random.uniform(0.9, 1.1)  # noqa: S311 -- jitter


class CallRunner:
    """Runs the calls of one response and stores their results in call order."""

    def __init__(
        self,
        parts: SessionParts,
        conversation: Conversation,
        orchestrator: Orchestrator,
        diff: TurnDiff,
    ) -> None:
        self._diff = diff
        self.cancelled: TurnCancelledError | None = None
        self._parts = parts
        self._conversation = conversation
        self._orchestrator = orchestrator
        self._gate = CallGate()
        self._ids: set[str] = set()
        self._notes: dict[int, list[str]] = {}

    @property
    def notes(self) -> list[str]:
        """What plugins add to the outputs, in call order."""
        return [note for place in sorted(self._notes) for note in self._notes[place]]

    def start(self, group: TaskGroup, item: AnyCall) -> None:
        """Store a call and run it; must be called in call order."""
        self._parts.call_began.set()
        key = self._conversation.begin_call(item)
        item_id = self._unused_id(item["call_id"])
        try:
            call = self._parts.offer.parse(item)._replace(call_id=item_id)
        except FerruleError as error:
            self._show_rejected(item, item_id, str(error))
            self._conversation.end_call(key, str(error))
            return
        place = len(self._ids)
        tool = self._parts.tools[call.tool]
        ticket = self._gate.admit(is_parallel=tool.parallel)

        async def run(call: ToolCall) -> None:
            async with self._gate.turn_of(ticket):
                if not tool.read_only:
                    await self._diff.mark()
                try:
                    outcome = await self._orchestrator.run(call)
                except TurnCancelledError as error:
                    self.cancelled = error
                    self._conversation.end_call(key, str(error))
                    group.cancel_scope.cancel()
                    return
                outcome, notes = await self._orchestrator.reconsidered(outcome)
                self._notes[place] = notes
                await self._conversation.ledger.settle(self._parts)
                self._conversation.end_call(key, self._parts.offer.answer(item, outcome.result))
                if not tool.read_only:
                    await self._diff.update()
                await self._orchestrator.report(outcome)

        group.start_soon(run, call)

    def _unused_id(self, call_id: str) -> str:
        """Tell calls apart that the model gave one id, and those whose item is still open."""
        item_id, number = call_id, 1
        while item_id in self._ids or self._parts.recorder.is_open(item_id):
            number += 1
            item_id = f"{call_id}#{number}"
        self._ids.add(item_id)
        return item_id

    def _show_rejected(self, item: AnyCall, item_id: str, reason: str) -> None:
        shown: DynamicToolCallItem = {
            "type": "dynamicToolCall",
            "id": item_id,
            "tool": requested_name(item),
            "arguments": shown_arguments(item),
            "status": "inProgress",
        }
        recorder = self._parts.recorder
        recorder.item_started(shown)
        recorder.decided(item_id, shown["tool"], "requirement", refusal(reason, "arguments"))
        recorder.item_completed(ended_item(shown, "failed", reason))
