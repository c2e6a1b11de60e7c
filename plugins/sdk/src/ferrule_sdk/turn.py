"""A turn: one exchange with the model, from a prompt to its last word."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Generic, TypeVar, cast

import anyio

from ferrule_sdk.errors import OutputError, SdkError, ServerError, TurnFailedError
from ferrule_sdk.inputs import user_input

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from ferrule_hookspecs.events import Event, ItemDelta
    from ferrule_hookspecs.items import ThreadItem
    from ferrule_hookspecs.threads import ThreadTokenUsage, TurnStatus
    from ferrule_hookspecs.threads import Turn as TurnFacts
    from ferrule_sdk.options import Where
    from ferrule_sdk.output import Output
    from ferrule_sdk.rpc import Rpc
    from ferrule_sdk.turn_log import TurnLog

T = TypeVar("T")
_INTERRUPT_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class TurnResult(Generic[T]):
    """How a turn ended.

    Attributes:
        text: The model's answer: its last message.
        parsed: The answer as a value of the schema that was asked for; None without one.
        items: Everything that was said and done, in order.
        usage: Tokens used, where the provider tells.
        diff: What the turn changed in the workspace, as a unified diff, where the server tells.
        turn: The turn in wire form: its id, status and times.
    """

    text: str
    parsed: T
    items: Sequence[ThreadItem]
    usage: ThreadTokenUsage | None
    diff: str = field(repr=False)
    turn: TurnFacts = field(repr=False)

    @property
    def status(self) -> TurnStatus:
        """`completed`, or `interrupted`; a failed turn raises."""
        return self.turn["status"]


class Turn(Generic[T]):
    """A turn that was started. Iterate over it for its events, or await `result()`, or both.

    Attributes:
        id: The turn.
        thread_id: Its thread.
    """

    def __init__(self, rpc: Rpc, thread_id: str, log: TurnLog, output: Output[T]) -> None:
        self.id = log.turn["id"]
        self.thread_id = thread_id
        self._rpc = rpc
        self._log = log
        self._output = output

    @property
    def is_running(self) -> bool:
        """Whether more may come."""
        return not self._log.has_ended.is_set()

    async def result(self) -> TurnResult[T]:
        """Wait for the end.

        Raises:
            TurnFailedError: The turn failed.
            OutputError: The answer does not fit the schema.
            ConnectionLostError: The server is gone.
            CallbackError: A callback raised, which ended the turn.
        """
        await self._log.has_ended.wait()
        self._raise_failure()
        return TurnResult(
            self._log.text,
            self._parsed(),
            self._log.items,
            self._log.usage,
            self._log.diff,
            self._log.turn,
        )

    async def events(self) -> AsyncGenerator[Event]:
        """Read what happens, in wire form, `turn/completed` last; once, by one reader.

        `event["method"]` tells the kinds apart, for type checkers too.

        Raises:
            TurnFailedError: The turn failed; after its last event.
            ConnectionLostError: The server is gone.
            SlowReaderError: Far too many events wait to be read.
        """
        async for event in self._log.events.events():
            yield event
        self._raise_failure()

    def __aiter__(self) -> AsyncGenerator[Event]:
        return self.events()

    async def text_deltas(self) -> AsyncGenerator[str]:
        """Read the model's messages as they are written; once, instead of the events."""
        async for event in self.events():
            if event["method"] == "item/agentMessage/delta":
                yield cast("ItemDelta", event)["params"]["delta"]

    async def steer(self, prompt: str, images: Sequence[Where] = ()) -> None:
        """Tell the model something while it works; it hears it with its next request.

        Raises:
            ServerError: The turn has ended.
        """
        await self._log.has_begun.wait()
        await self._rpc.call(
            "turn/steer",
            {
                "threadId": self.thread_id,
                "expectedTurnId": self.id,
                "input": user_input(prompt, images),
            },
        )

    async def interrupt(self) -> None:
        """End the turn, with every command it runs; nothing happens where it has ended."""
        await self._log.has_begun.wait()
        if self._log.has_ended.is_set():
            return
        try:
            await self._rpc.call("turn/interrupt", {"threadId": self.thread_id, "turnId": self.id})
        except ServerError:
            # It may have ended by itself while the request was under way.
            with anyio.move_on_after(_INTERRUPT_S):
                await self._log.has_ended.wait()
            if not self._log.has_ended.is_set():
                raise

    async def abandon(self) -> None:
        """Interrupt it where nobody waits for it any more, as after a cancellation."""
        with anyio.move_on_after(_INTERRUPT_S, shield=True):
            try:
                await self.interrupt()
                await self._log.has_ended.wait()
            except SdkError:
                return  # the server is gone, and the turn with it

    def _raise_failure(self) -> None:
        if self._log.failure is not None:
            raise self._log.failure
        turn = self._log.turn
        if turn["status"] == "failed":
            raise TurnFailedError(self.thread_id, self.id, turn.get("error"))

    def _parsed(self) -> T:
        if self._output.schema is not None and self._log.turn["status"] != "completed":
            reason = f"the turn was {self._log.turn['status']} before it gave its answer"
            raise OutputError(reason, self._log.text)
        return self._output.parse(self._log.text)
