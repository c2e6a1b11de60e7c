"""The session: operations in, events out, one active turn at a time.

The submission loop lives as long as the session. Input that arrives while a turn runs is steered
into it. However a turn ends, its history is well formed before anybody hears of the end.
"""

from __future__ import annotations

import contextlib
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

import anyio

from ferrule.containment import contained
from ferrule.context import turn_context
from ferrule.model_facts import facts_about, with_model
from ferrule.orchestrator import ended_item
from ferrule.pending_op import PendingOp
from ferrule.questions import Questions
from ferrule.session_facts import facts_of, wire_settings
from ferrule.session_view import close_view
from ferrule.thread_edits import ThreadEdits, injectable
from ferrule.turn_job import Input, TurnJob
from ferrule.turn_runner import TurnRunner
from ferrule.turn_settings import changed
from ferrule.user_command import user_command
from ferrule.warming import Warming
from ferrule_hookspecs.errors import FerruleError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

    from anyio.abc import TaskGroup

    from ferrule.conversation import Conversation
    from ferrule.session_parts import SessionParts
    from ferrule_hookspecs.events import Outgoing
    from ferrule_hookspecs.host import SessionFacts
    from ferrule_hookspecs.ops import (
        InjectItemsParams,
        Op,
        SettingsUpdateParams,
        ShellCommandParams,
        TurnStartParams,
        TurnSteerParams,
    )
    from ferrule_hookspecs.store import ThreadStore, ThreadWriter
    from ferrule_hookspecs.threads import Thread

_OP_LIMIT: Final = 64
_CLOSING_S: Final = 5.0


class LiveSession:
    """An open thread; satisfies the contract's `Session`."""

    def __init__(
        self,
        thread: Thread,
        parts: SessionParts,
        conversation: Conversation,
        *,
        store: ThreadStore | None,
        writer: ThreadWriter | None,
        on_closed: Callable[[LiveSession], None],
    ) -> None:
        self.thread = thread
        self.parts = parts
        self.questions = Questions(parts.recorder)
        self._parts = parts
        self._settings = parts.settings
        self._conversation = conversation
        self._edits = ThreadEdits(thread, parts.recorder, conversation, store)
        self._turns = TurnRunner(thread, parts, conversation, self._resubmit)
        self._warming = Warming(parts)
        self._writer = writer
        self._on_closed = on_closed
        self._send, self._receive = anyio.create_memory_object_stream[PendingOp](_OP_LIMIT)
        self._closed = anyio.Event()
        self._is_closing = False

    @property
    def facts(self) -> SessionFacts:
        """What holds from now on."""
        return facts_of(self._parts, self._settings)

    async def submit(self, op: Op) -> None:
        """Queue an operation; waits while the queue is full. A refusal becomes a warning."""
        await self._queue(PendingOp(op))

    async def perform(self, op: Op) -> Mapping[str, str]:
        """Queue an operation and wait until it is taken; raises what refuses it."""
        asked = PendingOp(op, anyio.Event())
        await self._queue(asked)
        await asked.answer()
        return {"turnId": asked.turn_id} if asked.turn_id else {}

    async def _queue(self, asked: PendingOp) -> None:
        try:
            await self._send.send(asked)
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            raise self._closed_error() from None

    def _closed_error(self) -> FerruleError:
        return FerruleError(f"thread {self.thread['id']} is closed")

    def events(self) -> AsyncIterator[Outgoing]:
        """Read events and questions in order; ends after `thread/closed`."""
        return self._parts.recorder.queue.read()

    async def close(self) -> None:
        """Interrupt what runs, write everything, end every child, give back the lock."""
        with anyio.CancelScope(shield=True):
            if not self._is_closing:
                self._begin_closing()
            await self._closed.wait()

    def _begin_closing(self) -> None:
        self._is_closing = True
        self._send.close()
        self._turns.interrupt()

    async def run(self, group: TaskGroup) -> None:
        """Serve operations until the session is closed; called once, by the kernel."""
        if self._parts.ask_client is not None:  # a person is there, so time passes before a turn
            group.start_soon(self._warming.provider, self._conversation)
        try:
            async for asked in self._receive:
                if self._is_closing:
                    asked.fail(self._closed_error())
                    break
                try:
                    asked.end(await self._serve(asked, group))
                except FerruleError as error:
                    asked.fail(error)
                    if not asked.is_awaited:
                        self._parts.recorder.warning(str(error))
                if self._is_closing:
                    break
        finally:
            with anyio.CancelScope(shield=True):
                try:
                    await self._shut_down()
                finally:
                    self._say_goodbye()

    async def _serve(self, asked: PendingOp, group: TaskGroup) -> str:
        """Take an operation; returns the turn that it began or joined, if any."""
        op = asked.op
        match op["method"]:
            case "turn/start":
                return await self._start_turn(op["params"], asked, group)
            case "turn/steer":
                return self._steer(op["params"])
            case "thread/compact/start":
                return await self._begin(TurnJob(None), group)
            case "review/start":
                from ferrule.review_turn import review_job  # most sessions review nothing

                self._turns.refuse_loss(is_review=True)  # before the turn's answers wait for it
                target = op["params"]["target"]
                job = review_job(self._parts, self._settings, target)
                return await self._begin(await self._turns.prepared(job), group)
            case "thread/shellCommand":
                return await self._run_command(op["params"], group)
            case "turn/interrupt":
                self._interrupt(op["params"]["turnId"])
            case "thread/settings/update":
                await self._change(op["params"])
            case "serverRequest/answer":
                self.questions.answer(op["params"]["requestId"], op["params"]["result"])
            case "thread/shutdown":
                self._begin_closing()
            case _:
                await self._edit(op)
        return ""

    async def _edit(self, op: Op) -> None:
        """Take an operation that needs no turn."""
        match op["method"]:
            case "thread/rollback":
                if self._turns.running is not None:
                    raise FerruleError("cannot roll back while a turn runs; interrupt it first")
                await self._edits.roll_back(op["params"], self._parts)
            case "thread/name/set":
                self._edits.rename(op["params"]["name"])
            case "thread/inject_items":
                self._inject(op["params"])
            case _:
                raise FerruleError(f"{op['method']} is not supported by this session")

    async def _start_turn(self, params: TurnStartParams, asked: PendingOp, group: TaskGroup) -> str:
        """Begin a turn, or steer the running one: settings then hold from the next one on."""
        given = Input(params["input"], params.get("clientUserMessageId"))
        job = TurnJob(given, params.get("outputSchema"), budget=params.get("budget"))
        try:
            await self._change(params)
        except FerruleError as error:
            if asked.is_awaited or self._turns.joinable is not None:
                raise
            job = job._replace(refusal=error)
        turn = self._turns.joinable
        if turn is not None:
            turn.steer(given)
            return turn.turn_id
        return await self._begin(job, group)

    async def _begin(self, job: TurnJob, group: TaskGroup) -> str:
        turn = await self._turns.begin(job, self._settings, group)
        group.start_soon(self._warming.tools, turn.turn_id)
        return turn.turn_id

    def _resubmit(self, given: Input) -> bool:
        """Begin another turn with input that came too late; returns whether it can."""
        params: TurnStartParams = {
            "threadId": self.thread["id"],
            "input": [*given.content],
            "clientUserMessageId": given.client_id,
        }
        try:
            self._send.send_nowait(PendingOp({"id": "", "method": "turn/start", "params": params}))
        except (anyio.WouldBlock, anyio.ClosedResourceError):
            return False
        return True

    async def _change(self, params: TurnStartParams | SettingsUpdateParams) -> None:
        """Change what sticks to the thread, and tell where that changed anything."""
        before, parts = self._settings, self._parts
        values = parts.context.config
        after = changed(before, params, parts.allowed, parts.resolve_reviewer, values)
        if after.model != before.model:
            info = await facts_about(parts.hooks, parts.context, parts.provider_name, after.model)
            known = with_model(replace(before, model=after.model), info, values)
            after = changed(known, params, parts.allowed, parts.resolve_reviewer, values)
        if after == before:
            return
        self._settings = after
        parts.recorder.record("event_msg", {"type": "thread_settings", **turn_context(after)})
        parts.recorder.emit(
            {
                "method": "thread/settings/updated",
                "params": {
                    "threadId": self.thread["id"],
                    "threadSettings": wire_settings(parts, after),
                },
            }
        )

    def _steer(self, params: TurnSteerParams) -> str:
        turn = self._turns.joinable
        if turn is None:
            raise FerruleError("no active turn to steer")
        expected = params.get("expectedTurnId")
        if expected not in (None, turn.turn_id):
            raise FerruleError(f"expected active turn id `{expected}` but found `{turn.turn_id}`")
        turn.steer(Input(params["input"], params.get("clientUserMessageId")))
        return turn.turn_id

    def _interrupt(self, turn_id: str) -> None:
        turn = self._turns.running
        if turn_id:
            if turn is None:
                raise FerruleError("no active turn to interrupt")
            if turn_id != turn.turn_id:
                raise FerruleError(f"expected active turn id {turn_id} but found {turn.turn_id}")
        self.interrupt()

    def interrupt(self) -> None:
        """End the running turn, and those of the threads that work for this one."""
        self._turns.interrupt()
        if self.parts.family is not None:
            self.parts.family.interrupt()

    async def _run_command(self, params: ShellCommandParams, group: TaskGroup) -> str:
        command = user_command(self._parts, params["command"], params.get("timeoutMs"))
        turn = self._turns.joinable
        if turn is None:
            return await self._begin(TurnJob(None, command=command), group)
        self._turns.start_command(command)
        return turn.turn_id

    def _inject(self, params: InjectItemsParams) -> None:
        items = injectable(params["items"])
        turn = self._turns.running
        if turn is not None and not self._turns.is_reviewing:  # open calls are answered first
            turn.inject(items)
            return
        for item in items:
            self._conversation.append(item)

    async def _shut_down(self) -> None:
        """End everything in the order that keeps the rollout whole."""
        self._is_closing = True
        self._warming.cancel()
        if self._turns.running is not None:
            self._turns.running.scope.cancel()
        await self._turns.idle()
        parts = self._parts
        if parts.family is not None:
            await parts.family.aclose()
        reason = "interrupted" if self._turns.was_interrupted else "closed"
        if parts.parent_thread_id is not None:
            await parts.hooks.observe(
                "ferrule_subagent_stop",
                context=parts.context,
                parent_thread_id=parts.parent_thread_id,
            )
        await parts.hooks.observe("ferrule_session_end", context=parts.context, reason=reason)
        for tool in parts.tools.values():
            await self._closing(tool.name, tool.aclose)
        enter = partial(self._conversation.ledger.settle, parts)
        await self._closing("the ledger", enter)  # while the sandbox still lets files be read
        await self._closing("the model provider", parts.provider.aclose)
        if parts.way_out is not None:
            await self._closing("the managed network", parts.way_out.aclose)
        await self._closing("the sandbox", parts.close_plugins)
        await self._closing("the overlay", partial(close_view, parts))
        with contextlib.suppress(FerruleError, OSError):  # told when the turn ended, if at all
            for item in parts.recorder.pending_items():
                parts.recorder.item_completed(ended_item(item, "failed", "ended with the session"))
            await enter()

    async def _closing(self, who: str, close: Callable[[], Awaitable[None]]) -> None:
        """Close a part; one that fails or hangs keeps nobody from closing."""
        try:
            with anyio.move_on_after(_CLOSING_S), contained(who):
                await close()
        except FerruleError as error:
            self._parts.recorder.warning(f"closing: {error}")

    def _refuse_waiting(self) -> None:
        """Tell whoever still waits for an operation to be taken."""
        while True:
            try:
                self._receive.receive_nowait().fail(self._closed_error())
            except (anyio.WouldBlock, anyio.EndOfStream, anyio.ClosedResourceError):
                break
        self._receive.close()

    def _say_goodbye(self) -> None:
        """Give back the lock and tell everybody who waits."""
        recorder = self._parts.recorder
        if self._writer is not None:
            self._writer.close()
        recorder.queue.put({"method": "thread/closed", "params": {"threadId": self.thread["id"]}})
        recorder.queue.close()
        self._refuse_waiting()
        self._send.close()
        self._on_closed(self)
        self._closed.set()
