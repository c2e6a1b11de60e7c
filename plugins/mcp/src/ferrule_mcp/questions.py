"""What servers ask of the user, put before whoever can answer."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, Final, cast

import anyio

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator, Mapping

    from mcp_types import ElicitRequestParams, ElicitResult, ErrorData

    from ferrule_hookspecs.events import ServerRequest
    from ferrule_hookspecs.services import SessionServices
    from ferrule_hookspecs.tools import ToolContext

_ACTIONS: Final = ("accept", "decline", "cancel")


@dataclass(eq=False, slots=True)
class Caller:
    """A call of one of a server's tools that is under way.

    Attributes:
        thread_id: The thread it belongs to.
        turn_id: The turn.
        ask_client: Puts a question to the thread's client; None where nobody can answer.
        services: What the thread's session does for plugins; None outside of a turn.
        call_id: The call's own id.
        scope: What ends the call at its deadline.
    """

    thread_id: str
    turn_id: str | None
    ask_client: Callable[[ServerRequest], Awaitable[Mapping[str, object]]] | None
    services: SessionServices | None = None
    call_id: str = ""
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    _requests: int = 0
    _pauses: int = 0
    _left: float = 0.0
    _asking: set[anyio.CancelScope] = field(default_factory=set[anyio.CancelScope])

    def next_id(self) -> str:
        """Return an id for what the server asks for during the call."""
        self._requests += 1
        return f"{self.call_id}:request:{self._requests}"

    @contextmanager
    def paused(self) -> Generator[None]:
        """Leave out the time that a person takes to answer, also where several are asked."""
        if not self._pauses:
            self._left = self.scope.deadline - anyio.current_time()
            self.scope.deadline = inf
        self._pauses += 1
        try:
            yield
        finally:
            self._pauses -= 1
            if not self._pauses:
                self.scope.deadline = anyio.current_time() + self._left

    @contextmanager
    def asking(self) -> Generator[None]:
        """Ask something, which the end of the call breaks off: the block is left early then."""
        with self.paused(), anyio.CancelScope() as scope:
            self._asking.add(scope)
            try:
                yield
            finally:
                self._asking.remove(scope)

    def end(self) -> None:
        """Take back what the server asks still: its call has ended, or was interrupted."""
        for scope in self._asking:
            scope.cancel()

    @classmethod
    def of(
        cls, context: ToolContext, services: SessionServices | None = None, call_id: str = ""
    ) -> Caller:
        """The caller in whose place a tool runs."""
        return cls(context.thread_id, context.turn_id, context.ask_client, services, call_id)


class Callers:
    """The calls under way at one server.

    A server does not say for which call it asks. Where calls of several threads are under way, a
    question could reach the wrong person, and is declined.
    """

    def __init__(self) -> None:
        self._under_way: list[Caller] = []
        self._others = 0
        self._left = anyio.Event()

    async def gone(self) -> None:
        """Wait until nothing is under way."""
        while self._under_way or self._others:
            await self._left.wait()

    @contextmanager
    def other(self) -> Generator[None]:
        """Something is asked that is no call of a tool."""
        self._others += 1
        try:
            yield
        finally:
            self._others -= 1
            self._note_end()

    def _note_end(self) -> None:
        self._left.set()
        self._left = anyio.Event()

    def enter(self, caller: Caller) -> None:
        """A call begins."""
        self._under_way.append(caller)

    def leave(self, caller: Caller) -> None:
        """A call has ended."""
        self._under_way.remove(caller)
        self._note_end()
        caller.end()

    def only(self) -> Caller | str:
        """Return who is asked, or why nobody is."""
        if not self._under_way:
            return "no call is under way that the question could belong to"
        if len({caller.thread_id for caller in self._under_way}) > 1:
            return (
                "calls of several threads are under way, and it is not known whose question it is"
            )
        return self._under_way[-1]


async def ask(
    server: str,
    callers: Callers,
    params: ElicitRequestParams,
    tell: Callable[[str], None],
) -> ElicitResult | ErrorData:
    """Put a server's question before the user; where nobody can answer, it is declined.

    `tell` is told why it is.
    """
    from mcp_types import ElicitResult

    caller = callers.only()
    if isinstance(caller, str) or caller.ask_client is None:
        why = caller if isinstance(caller, str) else "nobody can be asked in this session"
        tell(f"the MCP server {server!r} asked {params.message!r}, which is declined: {why}")
        return ElicitResult(action="decline")
    answer: Mapping[str, object] = {"action": "cancel"}
    with caller.asking():
        answer = await caller.ask_client(_question(server, caller, params))
    action = answer.get("action")
    if action not in _ACTIONS:
        tell(f"the answer to a question of the MCP server {server!r} is not understood: declined")
        return ElicitResult(action="decline")
    content = answer.get("content")
    if action == "accept" and params.mode == "form" and isinstance(content, dict):
        whole = _defaults(params.requested_schema) | cast("dict[str, object]", content)
        return ElicitResult.model_validate({"action": action, "content": whole})
    return ElicitResult.model_validate({"action": action})


def _defaults(schema: Mapping[str, object]) -> dict[str, object]:
    """What a form says for fields that are left out."""
    fields = cast("Mapping[str, object]", schema.get("properties") or {})
    return {
        name: cast("Mapping[str, object]", each)["default"]
        for name, each in fields.items()
        if isinstance(each, dict) and "default" in each
    }


def _question(server: str, caller: Caller, params: ElicitRequestParams) -> ServerRequest:
    told = params.model_dump(by_alias=True, mode="json", exclude_none=True)
    asked: dict[str, object] = {
        "threadId": caller.thread_id,
        "turnId": caller.turn_id,
        "serverName": server,
        "mode": params.mode,
        "message": params.message,
        "_meta": told.get("_meta"),
    }
    if params.mode == "form":
        asked["requestedSchema"] = told["requestedSchema"]
    else:
        asked |= {"url": params.url, "elicitationId": params.elicitation_id or ""}
    request = {"id": 0, "method": "mcpServer/elicitation/request", "params": asked}
    return cast("ServerRequest", request)
