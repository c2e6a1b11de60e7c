"""The calls of tools: from what a client sends to what it is answered."""

from __future__ import annotations

import json
import secrets
from contextlib import suppress
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

import anyio
from mcp_types import CallToolResult, ElicitRequest, InputRequiredResult, TextContent
from pydantic import ValidationError

from ferrule_hookspecs.errors import FerruleError, ToolArgumentError
from ferrule_mcp_server.call_arguments import check, start_of, thread_of
from ferrule_mcp_server.caller import Answer, Caller
from ferrule_mcp_server.codex_events import configured
from ferrule_mcp_server.tool_list import ALIASES, INPUTS, INTERRUPT, LIST, START

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anyio.abc import TaskGroup
    from mcp.server.context import ServerRequestContext
    from mcp_types import CallToolRequestParams, InputResponse

    from ferrule_mcp_server.thread_shelf import OpenThread, ThreadShelf
    from ferrule_mcp_server.turn import RunningTurn

MOST: Final = 128
"""Calls under way at the same time; more are refused."""
_PATIENCE_S: Final = 600.0
"""How long a turn waits for a client that is to call again with its answers."""
_LISTED: Final = 20


class _Waiting(NamedTuple):
    """A turn whose caller is to call again, with the same `request`."""

    thread: OpenThread
    turn: RunningTurn
    request: str
    again: anyio.Event


class ToolCalls:
    """Answers `tools/call`."""

    def __init__(self, shelf: ThreadShelf, group: TaskGroup) -> None:
        self._shelf = shelf
        self._group = group
        self._under_way = 0
        self._waiting: dict[str, _Waiting] = {}

    async def call(
        self, context: ServerRequestContext[Any, Any], params: CallToolRequestParams
    ) -> CallToolResult | InputRequiredResult:
        """Answer a call; what goes wrong is told in the result, for the model to read."""
        tool = ALIASES.get(params.name, params.name)
        if tool not in INPUTS:
            return _refused(f"Unknown tool {params.name!r}")
        waiting = 0 if params.request_state else len(self._waiting)
        if self._under_way + waiting >= MOST:
            return _refused(f"{MOST} calls are under way already; call again when one has ended")
        self._under_way += 1
        try:
            return await self._answer(Caller(context), tool, params)
        except FerruleError as error:
            return _refused(str(error))
        finally:
            self._under_way -= 1

    async def _answer(
        self, caller: Caller, tool: str, params: CallToolRequestParams
    ) -> CallToolResult | InputRequiredResult:
        arguments = params.arguments or {}
        check(tool, arguments)
        if tool == LIST:
            return self._list(cast("int", arguments.get("limit", _LISTED)))
        if tool == INTERRUPT:
            return await self._interrupt(thread_of(tool, arguments))
        if params.request_state is not None:
            return await self._go_on(caller, tool, params)
        return await self._run(caller, tool, arguments)

    async def _run(
        self, caller: Caller, tool: str, arguments: Mapping[str, object]
    ) -> CallToolResult | InputRequiredResult:
        can_ask = caller.asking != "never"
        request = _request(tool, arguments)
        if tool == START:
            start = start_of(arguments)
            thread = await self._shelf.start(start, can_ask=can_ask)
            await caller.tell(thread.id, "", configured(thread.session))
        else:
            thread_id = thread_of(tool, arguments)
            try:
                thread = await self._shelf.find(thread_id, can_ask=can_ask)
            except FerruleError as error:
                return _result(thread_id, str(error), is_error=True)
        try:
            turn = await thread.begin(cast("str", arguments["prompt"]))
        except FerruleError as error:
            return _result(thread.id, str(error), is_error=True)
        return await self._follow(caller, _Waiting(thread, turn, request, anyio.Event()))

    async def _follow(
        self,
        caller: Caller,
        work: _Waiting,
        answers: Mapping[int, Answer | None] = MappingProxyType({}),
    ) -> CallToolResult | InputRequiredResult:
        try:
            ending = await work.turn.follow(caller, answers)
        finally:
            if work.turn.ended.is_set():
                await self._shelf.done(work.thread)
        if ending is None:
            return self._ask_later(work)
        return _result(work.thread.id, ending.content, is_error=ending.is_error)

    def _ask_later(self, work: _Waiting) -> InputRequiredResult:
        state = secrets.token_urlsafe(32)
        self._waiting[state] = work
        self._group.start_soon(self._wait, state, work)
        requests = {
            str(number): ElicitRequest.model_validate({"params": asked.put("later")})
            for number, asked in work.turn.open.items()
        }
        return InputRequiredResult(input_requests=dict(requests), request_state=state)

    async def _wait(self, state: str, work: _Waiting) -> None:
        """Stop a turn whose caller does not call again."""
        with anyio.move_on_after(_PATIENCE_S):
            await work.again.wait()
            return
        if self._waiting.pop(state, None) is not None:
            await work.turn.interrupt()
            await self._shelf.done(work.thread)

    async def _go_on(
        self, caller: Caller, tool: str, params: CallToolRequestParams
    ) -> CallToolResult | InputRequiredResult:
        work = self._waiting.get(cast("str", params.request_state))
        if work is None or work.request != _request(tool, params.arguments or {}):
            raise ToolArgumentError(f"{tool}: nothing waits for an answer with this `requestState`")
        del self._waiting[cast("str", params.request_state)]
        work.again.set()
        said = params.input_responses or {}
        answers = {number: _answer(said.get(str(number))) for number in work.turn.open}
        return await self._follow(caller, work._replace(again=anyio.Event()), answers)

    async def _interrupt(self, thread_id: str) -> CallToolResult:
        turn = self._shelf.running(thread_id)
        if turn is None:
            if self._shelf.known(thread_id):
                return _result(thread_id, "No turn was running.")
            text = f"Session not found for thread_id: {thread_id}"
            return _result(thread_id, text, is_error=True)
        waiting = [state for state, work in self._waiting.items() if work.turn is turn]
        if waiting:
            work = self._waiting.pop(waiting[0])
            work.again.set()
            await turn.interrupt()
            await self._shelf.done(work.thread)
        else:
            await turn.stop()
        return _result(thread_id, "The turn was interrupted.")

    def _list(self, limit: int) -> CallToolResult:
        threads = [
            {
                "threadId": each.thread_id,
                "status": each.status,
                "cwd": each.cwd,
                "preview": each.preview,
                "name": each.name,
                "updatedAt": each.updated_at,
            }
            for each in self._shelf.list(limit)
        ]
        lines = [f"{each['threadId']} {each['status']} {each['preview']}" for each in threads]
        text = TextContent(type="text", text="\n".join(lines) or "There are no threads yet.")
        return CallToolResult(content=[text], structured_content={"threads": threads})


def _answer(said: InputResponse | None) -> Answer | None:
    """Read what a client answers; what makes no sense is no answer."""
    with suppress(ValidationError):
        return None if said is None else Answer.model_validate(said.model_dump())
    return None


def _request(tool: str, arguments: Mapping[str, object]) -> str:
    return json.dumps([tool, arguments], sort_keys=True)


def _result(thread_id: str, content: str, *, is_error: bool = False) -> CallToolResult:
    return CallToolResult(
        content=[TextContent(type="text", text=content)],
        structured_content={"threadId": thread_id, "content": content},
        is_error=is_error,
    )


def _refused(message: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=message)], is_error=True)
