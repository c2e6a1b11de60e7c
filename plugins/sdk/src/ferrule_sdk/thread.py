"""A thread: a conversation that can be gone on with, forked, and found again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar, cast, overload

import anyio

from ferrule_sdk.errors import SdkError
from ferrule_sdk.inputs import user_input
from ferrule_sdk.output import Output
from ferrule_sdk.places import absolute
from ferrule_sdk.reviews import review_target, with_findings
from ferrule_sdk.turn import Turn, TurnResult

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping, Sequence

    from typing_extensions import Unpack

    from ferrule_hookspecs.change_review import ReviewFindings
    from ferrule_hookspecs.events import Event
    from ferrule_hookspecs.items import UserInput
    from ferrule_hookspecs.threads import Thread as ThreadFacts
    from ferrule_hookspecs.threads import Turn as TurnFacts
    from ferrule_sdk.options import TurnOptions
    from ferrule_sdk.rpc import Rpc
    from ferrule_sdk.thread_log import ThreadLog
    from ferrule_sdk.turn_log import TurnLog

T = TypeVar("T")
_TURN_NAMES: Final = {
    "model": "model",
    "effort": "effort",
    "summary": "summary",
    "sandbox_policy": "sandboxPolicy",
    "approval_policy": "approvalPolicy",
    "approvals_reviewer": "approvalsReviewer",
}


class Thread:
    """A conversation.

    Attributes:
        id: The thread.
        facts: The thread in wire form, as it was when it was opened; of a resumed thread, its turns
            are among them.
        model: The model it was opened with.
        cwd: Where it works.
    """

    def __init__(self, rpc: Rpc, log: ThreadLog) -> None:
        self._rpc = rpc
        self._log = log
        self.facts = log.facts
        self.id = log.facts["id"]
        self.model = log.model
        self.cwd = log.cwd

    @property
    def running(self) -> Turn[None] | None:
        """The turn that runs, whoever started it; None where none does."""
        log = self._log.running
        return None if log is None else Turn(self._rpc, self.id, log, Output[None](None))

    @overload
    async def run(
        self,
        prompt: str | Sequence[UserInput],
        *,
        schema: None = None,
        **options: Unpack[TurnOptions],
    ) -> TurnResult[None]: ...
    @overload
    async def run(
        self,
        prompt: str | Sequence[UserInput],
        *,
        schema: type[T],
        **options: Unpack[TurnOptions],
    ) -> TurnResult[T]: ...
    @overload
    async def run(
        self,
        prompt: str | Sequence[UserInput],
        *,
        schema: Mapping[str, object],
        **options: Unpack[TurnOptions],
    ) -> TurnResult[Any]: ...
    async def run(
        self,
        prompt: str | Sequence[UserInput],
        *,
        schema: type[T] | Mapping[str, object] | None = None,
        **options: Unpack[TurnOptions],
    ) -> TurnResult[Any]:
        """Run a turn to its end; a cancellation interrupts it.

        Args:
            prompt: Text, or input in wire form.
            schema: What the answer must be: a pydantic model, any type pydantic knows, or a JSON
                Schema.
            **options: Images, and what holds from this turn on.

        Raises:
            TurnFailedError: The turn failed.
            OutputError: The answer does not fit the schema.
            ServerError: The server refuses the turn.
            ConnectionLostError: The server is gone.
            CallbackError: A callback raised, which ended the turn.
        """
        turn = await self._begin(prompt, Output(schema), options)
        try:
            return await turn.result()
        finally:
            if turn.is_running:
                await turn.abandon()

    async def stream(
        self, prompt: str | Sequence[UserInput], **options: Unpack[TurnOptions]
    ) -> AsyncGenerator[Event]:
        """Run a turn and read what happens; leaving the loop early interrupts the turn.

        Raises:
            TurnFailedError: The turn failed; after its last event.
            ServerError: The server refuses the turn.
            ConnectionLostError: The server is gone.
        """
        turn = await self._begin(prompt, Output[None](None), options)
        try:
            async for event in turn.events():
                yield event
        finally:
            if turn.is_running:
                await turn.abandon()

    @overload
    async def start(
        self,
        prompt: str | Sequence[UserInput],
        *,
        schema: None = None,
        **options: Unpack[TurnOptions],
    ) -> Turn[None]: ...
    @overload
    async def start(
        self,
        prompt: str | Sequence[UserInput],
        *,
        schema: type[T],
        **options: Unpack[TurnOptions],
    ) -> Turn[T]: ...
    @overload
    async def start(
        self,
        prompt: str | Sequence[UserInput],
        *,
        schema: Mapping[str, object],
        **options: Unpack[TurnOptions],
    ) -> Turn[Any]: ...
    async def start(
        self,
        prompt: str | Sequence[UserInput],
        *,
        schema: type[T] | Mapping[str, object] | None = None,
        **options: Unpack[TurnOptions],
    ) -> Turn[Any]:
        """Start a turn and go on at once; it runs on, whatever becomes of the caller.

        Where a turn runs already it is told the prompt, and it is what is returned.

        Raises:
            ServerError: The server refuses the turn.
            ConnectionLostError: The server is gone.
        """
        return await self._begin(prompt, Output(schema), options)

    async def review(
        self,
        instructions: str | None = None,
        *,
        base: str | None = None,
        commit: str | None = None,
        title: str | None = None,
    ) -> TurnResult[ReviewFindings]:
        """Have changes reviewed: what is staged, changed or untracked, unless more is said.

        The findings are `parsed`, and `text` shows them; the thread's model knows them from then
        on.

        Args:
            instructions: What else is to be looked at, in your own words.
            base: Review all since this branch was left.
            commit: Review this commit.
            title: How to call the commit.

        Raises:
            TurnFailedError: The review failed.
            OutputError: It was interrupted.
            ServerError: Nothing can be reviewed, or a turn runs.
            ConnectionLostError: The server is gone.
        """
        target = review_target(instructions, base, commit, title)
        params = {"threadId": self.id, "target": target}
        turn = await self._started("review/start", params, Output[None](None))
        try:
            result = await turn.result()
        finally:
            if turn.is_running:
                await turn.abandon()
        return with_findings(result)

    async def rename(self, name: str) -> None:
        """Give the thread a name."""
        await self._rpc.call("thread/name/set", {"threadId": self.id, "name": name})

    async def compact(self) -> None:
        """Have the history made shorter; it begins at once and is a turn of its own."""
        await self._rpc.call("thread/compact/start", {"threadId": self.id})

    async def archive(self) -> None:
        """Put the thread away; it is kept, but neither listed nor gone on with."""
        await self._rpc.call("thread/archive", {"threadId": self.id})

    async def read(self) -> ThreadFacts:
        """Read the thread with all of its turns."""
        reply = await self._rpc.call("thread/read", {"threadId": self.id, "includeTurns": True})
        return cast("ThreadFacts", reply["thread"])

    async def unsubscribe(self) -> None:
        """Hear nothing more of it; what runs in it goes on."""
        await self._rpc.call("thread/unsubscribe", {"threadId": self.id})
        self._log.end(SdkError(f"thread {self.id} was unsubscribed from"))

    async def _begin(
        self, prompt: str | Sequence[UserInput], output: Output[T], options: TurnOptions
    ) -> Turn[T]:
        params = {"threadId": self.id, **_turn_params(prompt, options)}
        if output.schema is not None:
            params["outputSchema"] = output.schema
        return await self._started("turn/start", params, output)

    async def _started(self, method: str, params: dict[str, object], output: Output[T]) -> Turn[T]:
        logs: list[TurnLog] = []

        def begun(reply: dict[str, object]) -> None:
            logs.append(self._log.take(cast("TurnFacts", reply["turn"])))

        try:
            await self._rpc.call(method, params, on_reply=begun)
        except anyio.get_cancelled_exc_class():
            for log in logs:  # nobody would know of the turn
                await Turn(self._rpc, self.id, log, output).abandon()
            raise
        return Turn(self._rpc, self.id, logs[0], output)


def _turn_params(prompt: str | Sequence[UserInput], options: TurnOptions) -> dict[str, object]:
    given = user_input(prompt, options.get("images", ()), options.get("detail"))
    params: dict[str, object] = {"input": given}
    params |= {_TURN_NAMES[key]: value for key, value in options.items() if key in _TURN_NAMES}
    if "cwd" in options:
        params["cwd"] = absolute(options["cwd"])
    return params
