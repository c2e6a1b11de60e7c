"""One agent: a thread that works for the session, and how it stands."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, cast

import anyio

from ferrule_hookspecs.errors import FerruleError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from ferrule_hookspecs.events import Outgoing
    from ferrule_hookspecs.host import Session
    from ferrule_hookspecs.items import CollabAgentState, UserInput
    from ferrule_hookspecs.ops import Op
    from ferrule_hookspecs.threads import Turn

Status = Literal[
    "pendingInit", "running", "interrupted", "completed", "errored", "shutdown", "notFound"
]
_GIVING_UP_S: Final = 5.0
_SNAKE: Final[dict[Status, str]] = {"pendingInit": "pending_init", "notFound": "not_found"}
_FINAL: Final[frozenset[Status]] = frozenset(
    {"interrupted", "completed", "errored", "shutdown", "notFound"}
)


class State(NamedTuple):
    """How an agent stands.

    Attributes:
        status: The word for it.
        message: With completed: its last message; with errored: why.
    """

    status: Status
    message: str | None = None

    @property
    def is_final(self) -> bool:
        """Whether the agent has nothing more to do by itself."""
        return self.status in _FINAL

    @property
    def wire(self) -> CollabAgentState:
        """As clients know it."""
        return {"status": self.status, "message": self.message}

    @property
    def told(self) -> str | dict[str, str | None]:
        """As the model reads it."""
        word = _SNAKE.get(self.status, self.status)
        return {word: self.message} if self.status in ("completed", "errored") else word


class Agent:
    """A thread that works for the session.

    Attributes:
        state: How it stands.
    """

    def __init__(
        self,
        session: Session,
        on_end: Callable[[str, State], Awaitable[None]],
        state: State = State("pendingInit"),  # noqa: B008 -- it is frozen
    ) -> None:
        """Take the session; `on_end` is told of every end of its turns, before anybody else."""
        self.session = session
        self.id = session.thread["id"]
        self.state = state
        self.changed = anyio.Event()
        self._on_end = on_end
        self._last_message: str | None = None
        self._is_closing = False

    async def follow(self) -> None:
        """Read its events until it is closed; called once, in the background."""
        try:
            async for event in self.session.events():
                await self._take(event)
        finally:
            self._is_closing = True
            self._stands(State("shutdown"))

    async def begin(self, content: Sequence[UserInput]) -> None:
        """Give it input: a turn begins, or the running one reads it."""
        if self.state.is_final:
            self._stands(State("running"))
        try:
            await self._perform("turn/start", input=list(content))
        except anyio.get_cancelled_exc_class():  # it may begin all the same, with nobody to end it
            with anyio.move_on_after(_GIVING_UP_S, shield=True), suppress(FerruleError):
                await self.session.submit(self._op("turn/interrupt", turnId=""))
            raise

    async def interrupt(self) -> None:
        """End its running turn, if there is one, and those of the agents below it."""
        await self._perform("turn/interrupt", turnId="")

    async def close(self) -> None:
        """End it."""
        self._is_closing = True
        await self.session.close()

    async def ended(self) -> None:
        """Wait until it has nothing more to do by itself."""
        while not self.state.is_final:
            await self.changed.wait()

    def _op(self, method: str, **params: object) -> Op:
        op = {"id": "", "method": method, "params": {"threadId": self.id, **params}}
        return cast("Op", op)

    async def _perform(self, method: str, **params: object) -> None:
        try:
            await self.session.perform(self._op(method, **params))
        except FerruleError:
            if self._is_closing:
                raise FerruleError(f"agent {self.id} is closed; resume_agent opens it") from None
            raise

    async def _take(self, event: Outgoing) -> None:
        params = cast("dict[str, Any]", event["params"])
        match event["method"]:
            case "turn/started":
                self._last_message = None
                self._stands(State("running"))
            case "item/completed" if params["item"]["type"] == "agentMessage":
                self._last_message = params["item"]["text"]
            case "turn/completed":
                state = self._end_of(params["turn"])
                if not self._is_closing:
                    await self._on_end(self.id, state)
                self._stands(state)
            case _:
                pass

    def _end_of(self, turn: Turn) -> State:
        if turn["status"] == "interrupted":
            return State("interrupted")
        if turn["status"] == "failed":
            error = turn.get("error")
            return State("errored", error["message"] if error else "the turn failed")
        return State("completed", self._last_message)

    def _stands(self, state: State) -> None:
        self.state = state
        self.changed.set()
        self.changed = anyio.Event()
