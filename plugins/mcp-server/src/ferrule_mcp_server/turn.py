"""One turn of a thread on behalf of a caller: events out, questions answered, and how it ends."""

from __future__ import annotations

from contextlib import aclosing, suppress
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

import anyio
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from ferrule_hookspecs.errors import FerruleError
from ferrule_mcp_server.caller import Answer
from ferrule_mcp_server.elicitation import Asked
from ferrule_mcp_server.shield import shielded

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    from anyio.abc import TaskGroup

    from ferrule_hookspecs.events import Outgoing
    from ferrule_hookspecs.host import Session
    from ferrule_hookspecs.ops import Op
    from ferrule_hookspecs.threads import Turn
    from ferrule_mcp_server.caller import Caller
    from ferrule_mcp_server.codex_events import CodexEvents

_INTERRUPT_S: Final = 30.0
_GONE: Final = (anyio.ClosedResourceError, anyio.BrokenResourceError)
_NEWS: Final[Mapping[str, str]] = {
    "commandExecution": "command",
    "fileChange": "file",
    "mcpToolCall": "tool",
    "webSearch": "query",
}
"""Items that are news to who waits for the end, by the field that says which one it is."""


class Ending(NamedTuple):
    """How a turn ended: what the caller reads, and whether it is an error."""

    content: str
    is_error: bool


class RunningTurn:
    """A turn that was begun."""

    def __init__(self, session: Session, events: CodexEvents) -> None:
        self._session = session
        self._events = events
        self._id = session.thread["id"]
        self._turn_id = ""
        self._last_message = ""
        self._open: dict[int, Asked] = {}
        self._asking: dict[int, anyio.CancelScope] = {}
        self.ended = anyio.Event()

    @property
    def open(self) -> Mapping[int, Asked]:
        """The questions that wait for the caller to call again."""
        return self._open

    async def begin(self, prompt: str) -> None:
        """Start it.

        Raises:
            FerruleError: The thread refuses.
        """
        content: Any = [{"type": "text", "text": prompt}]
        params: Any = {"threadId": self._id, "input": content}
        op = cast("Op", {"id": "mcp", "method": "turn/start", "params": params})
        # Who cancels it then finds a turn that can be interrupted, and not one that nobody knows.
        taken = await shielded(self._session.perform(op))
        self._turn_id = taken.get("turnId", "")

    async def follow(
        self, caller: Caller, answers: Mapping[int, Answer | None] = MappingProxyType({})
    ) -> Ending | None:
        """Pass on what happens until the turn ends; None where the caller is to call again.

        Cancelling interrupts the turn. `answers` are what the caller says to its open questions.
        """
        ending: Ending | None = None
        try:
            for number, answer in answers.items():
                await self._answer(number, answer)
            async with anyio.create_task_group() as group:
                ending = await self._read(caller, group)
                group.cancel_scope.cancel()
        except BaseException:
            await self.interrupt(caller)
            raise
        return ending

    async def _answer(self, number: int, answer: Answer | None) -> None:
        """Pass on what the caller says to a question; None where it says nothing."""
        asked = self._open.pop(number, None)
        if asked is not None:
            result = asked.refusal() if answer is None else asked.result(answer)
            await self._submit(number, result)

    async def stop(self) -> None:
        """Stop it while its caller follows it, and wait until it has ended."""
        await self._submit_interrupt()
        with anyio.move_on_after(_INTERRUPT_S):
            await self.ended.wait()

    async def interrupt(self, caller: Caller | None = None) -> None:
        """Stop it, wait until that is recorded, and tell the caller, if it reads."""
        if self.ended.is_set():
            return
        with anyio.move_on_after(_INTERRUPT_S, shield=True):
            await self._submit_interrupt()
            async with aclosing(cast("AsyncGenerator[Outgoing]", self._session.events())) as events:
                async for event in events:
                    if caller is not None:
                        with suppress(MCPError, *_GONE):
                            await self._tell(caller, event)
                    if self._is_end(event):
                        return
        self.ended.set()

    async def _submit_interrupt(self) -> None:
        params = {"threadId": self._id, "turnId": self._turn_id}
        op = cast("Op", {"id": "mcp", "method": "turn/interrupt", "params": params})
        await self._session.submit(op)

    async def _read(self, caller: Caller, group: TaskGroup) -> Ending | None:
        async with aclosing(cast("AsyncGenerator[Outgoing]", self._session.events())) as events:
            async for event in events:
                await self._tell(caller, event)
                if "id" in event:
                    asked = Asked.of(event, caller.request_id, self._changes_of(event))
                    if caller.asking == "later" and asked.can_be_put(caller):
                        self._open[asked.number] = asked
                        return None
                    group.start_soon(self._ask, caller, asked)
                elif event["method"] == "serverRequest/resolved":
                    self._withdraw(event["params"]["requestId"])
                elif self._is_end(event):
                    return self._ending(cast("dict[str, Any]", event["params"])["turn"])
        self.ended.set()
        return Ending(f"Thread {self._id} was closed before its turn ended.", is_error=True)

    async def _tell(self, caller: Caller, event: Outgoing) -> None:
        params = cast("dict[str, Any]", event["params"])
        if params.get("threadId") not in (self._id, None) and "id" not in event:
            return  # what a subagent does is told by the item that waits for it
        turn_id = params.get("turnId") or self._turn_id
        for told in self._events.translate(event):
            await caller.tell(self._id, turn_id, told)
        if event["method"] == "item/started" and params["item"]["type"] in _NEWS:
            item = params["item"]
            shown = item.get(_NEWS[item["type"]])
            files = ", ".join(change["path"] for change in item.get("changes", ()))
            await caller.progress(f"{item['type']}: {shown or files}")
        elif event["method"] == "item/completed" and params["item"]["type"] == "agentMessage":
            self._last_message = params["item"]["text"] or self._last_message
            await caller.progress("agentMessage")

    def _changes_of(self, event: Outgoing) -> Mapping[str, object]:
        item_id = cast("dict[str, Any]", event["params"]).get("itemId")
        return self._events.changes(item_id) if item_id else {}

    async def _ask(self, caller: Caller, asked: Asked) -> None:
        """Put a question; whatever is no answer is none."""
        result = asked.refusal()
        if asked.can_be_put(caller):
            scope = self._asking[asked.number] = anyio.CancelScope()
            # One that refuses to be asked, or says something else, has not said yes.
            with scope, suppress(MCPError, ValidationError):
                result = asked.result(await caller.ask(asked.put(caller.asking)))
            if self._asking.pop(asked.number, None) is None:
                return  # withdrawn
        await self._submit(asked.number, result)

    def _withdraw(self, number: int) -> None:
        self._open.pop(number, None)
        scope = self._asking.pop(number, None)
        if scope is not None:
            scope.cancel()

    async def _submit(self, number: int, result: Mapping[str, object]) -> None:
        params = {"threadId": self._id, "requestId": number, "result": dict(result)}
        op = cast("Op", {"id": "mcp", "method": "serverRequest/answer", "params": params})
        with suppress(FerruleError):  # it was withdrawn meanwhile
            await self._session.perform(op)

    def _is_end(self, event: Outgoing) -> bool:
        if event["method"] != "turn/completed" or event["params"]["turn"]["id"] != self._turn_id:
            return False
        self.ended.set()
        return True

    def _ending(self, turn: Turn) -> Ending:
        match turn["status"]:
            case "failed":
                error = turn.get("error")
                return Ending(error["message"] if error else "The turn failed.", is_error=True)
            case "interrupted":
                return Ending("The turn was interrupted.", is_error=True)
            case _:
                return Ending(self._last_message, is_error=False)
