"""The session: operations in, events out, one active turn at a time.

The submission loop lives as long as the session. Input that arrives while a turn runs is steered
into it. However a turn ends, its history is well formed before anybody hears of the end.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Final, cast

import anyio

from ferrule.attempt import CallContext, confined
from ferrule.containment import FAULTS, contained
from ferrule.context import change_note, turn_context
from ferrule.ids import uuid7
from ferrule.model_facts import facts_about, with_model
from ferrule.orchestrator import TurnCancelledError, ended_item
from ferrule.questions import Questions
from ferrule.transcript import read_context, read_history, read_user_texts
from ferrule.turn import TurnLoop, next_request
from ferrule.turn_settings import changed
from ferrule_hookspecs.errors import ConfigError, FerruleError, ProviderError
from ferrule_hookspecs.hooks import Notification

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence

    from anyio.abc import TaskGroup

    from ferrule.conversation import Conversation
    from ferrule.session_parts import SessionParts
    from ferrule.usage import Spent
    from ferrule_hookspecs.events import Outgoing
    from ferrule_hookspecs.host import SessionFacts
    from ferrule_hookspecs.items import UserInput
    from ferrule_hookspecs.ops import Op, TurnStartParams, TurnSteerParams
    from ferrule_hookspecs.provider import ModelRequest
    from ferrule_hookspecs.store import ThreadStore, ThreadWriter
    from ferrule_hookspecs.threads import Thread, TurnError

_OP_LIMIT: Final = 64
_CLOSING_S: Final = 5.0
# Longer than a request takes to leave, shorter than a model takes to ask for its first tool.
_HEAD_START_S: Final = 0.1


class LiveSession:
    """An open thread; satisfies the contract's `Session`."""

    def __init__(
        self,
        thread: Thread,
        facts: SessionFacts,
        parts: SessionParts,
        conversation: Conversation,
        *,
        spent: Spent,
        last_context: Mapping[str, object],
        store: ThreadStore | None,
        writer: ThreadWriter | None,
        on_closed: Callable[[LiveSession], None],
    ) -> None:
        self.thread = thread
        self.facts = facts
        self.questions = Questions(parts.recorder)
        self._parts = parts
        self._settings = parts.settings
        self._conversation = conversation
        self._spent = spent
        self._last_context = last_context
        self._store = store
        self._writer = writer
        self._on_closed = on_closed
        self._send, self._receive = anyio.create_memory_object_stream["_Asked"](_OP_LIMIT)
        self._turn: TurnLoop | None = None
        self._idle = anyio.Event()
        self._idle.set()
        self._closed = anyio.Event()
        self._is_closing = False
        self._is_warm = False
        self._background = anyio.CancelScope()
        self._warming = anyio.CancelScope()
        self._was_interrupted = False

    async def submit(self, op: Op) -> None:
        """Queue an operation; waits while the queue is full. A refusal becomes a warning."""
        await self._queue(_Asked(op))

    async def perform(self, op: Op) -> Mapping[str, str]:
        """Queue an operation and wait until it is taken; raises what refuses it."""
        asked = _Asked(op, anyio.Event())
        await self._queue(asked)
        await asked.answer()
        return {"turnId": asked.turn_id} if asked.turn_id else {}

    async def _queue(self, asked: _Asked) -> None:
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
                self._is_closing = True
                self._send.close()
                if self._turn is not None:
                    self._was_interrupted = True
                    self._turn.scope.cancel()
            await self._closed.wait()

    async def run(self, group: TaskGroup) -> None:
        """Serve operations until the session is closed; called once, by the kernel."""
        if self._parts.ask_client is not None:  # a person is there, so time passes before a turn
            group.start_soon(self._warm_provider)
        try:
            async for asked in self._receive:
                try:
                    asked.end(await self._serve(asked.op, group))
                except FerruleError as error:
                    if not asked.fail(error):
                        self._parts.recorder.warning(str(error))
                if self._is_closing:
                    break
        finally:
            with anyio.CancelScope(shield=True):
                try:
                    await self._shut_down()
                finally:
                    self._say_goodbye()

    async def _serve(self, op: Op, group: TaskGroup) -> str:
        """Take an operation; returns the turn that it began or joined, if any."""
        match op["method"]:
            case "turn/start":
                return await self._start_turn(op["params"], group)
            case "turn/steer":
                return self._steer(op["params"])
            case "turn/interrupt":
                self._interrupt(op["params"]["turnId"])
            case "thread/compact/start":
                return await self._begin(TurnLoopJob(None), group)
            case "thread/rollback":
                self._roll_back(op["params"]["numTurns"])
            case "serverRequest/answer":
                params = op["params"]
                self.questions.answer(params["requestId"], params["result"])
            case "thread/shutdown":
                self._is_closing = True
                self._send.close()
                self._interrupt("")
            case _:
                raise FerruleError(f"{op['method']} is not supported by this session")
        return ""

    async def _start_turn(self, params: TurnStartParams, group: TaskGroup) -> str:
        """Begin a turn, or steer the running one: settings then hold from the next one on."""
        running = self._turn
        if running is not None and running.takes_input:
            self._settings = changed(self._settings, params, self._parts.allowed)
            running.steer(params["input"])
            return running.turn_id
        if running is not None:
            running.scope.cancel()
        job = TurnLoopJob(params["input"], params.get("outputSchema"))
        try:
            self._settings = changed(self._settings, params, self._parts.allowed)
        except ConfigError as error:
            job.refusal = error
        return await self._begin(job, group)

    async def _settle_on_model(self) -> None:
        """Look up a model that was changed to, so that its limits and prices hold."""
        parts = self._parts
        if self._settings.model != parts.settings.model:
            info = await facts_about(
                parts.hooks, parts.context, parts.provider_name, self._settings.model
            )
            self._settings = with_model(self._settings, info, parts.context.config)

    async def _begin(self, job: TurnLoopJob, group: TaskGroup) -> str:
        await self._idle.wait()
        self._idle = anyio.Event()
        self._was_interrupted = False
        await self._settle_on_model()
        self._parts.settings = self._settings
        turn = TurnLoop(
            self._parts,
            self._conversation,
            uuid7(),
            output_schema=job.output_schema,
            thread_spent=self._spent,
            takes_input=job.content is not None,
        )
        self._turn = turn
        if not self._is_warm:
            self._is_warm = True
            group.start_soon(self._prewarm, turn.turn_id)
        group.start_soon(self._run_turn, turn, job, name=f"turn {turn.turn_id}")
        return turn.turn_id

    async def _run_turn(self, turn: TurnLoop, job: TurnLoopJob) -> None:
        status, error = "interrupted", None
        try:
            with turn.scope:
                failure = await self._guarded(turn, job)
                status, error = ("completed", None) if failure is None else failure
        finally:
            with anyio.CancelScope(shield=True):
                self._pass_on(turn.left_over(), status)
                self._spent = turn.thread_spent
                self._turn = None
                try:
                    if error is not None and status == "failed":
                        self._parts.recorder.error(error, will_retry=False)
                    await turn.finish(status, error)
                    await self._notify(turn, status)
                except Exception as fault:  # noqa: BLE001 -- a store is a plugin: the session goes on
                    self._report_unstored(turn, fault)
                self._idle.set()

    def _pass_on(self, content: Sequence[UserInput], status: str) -> None:
        """Begin the next turn with input the last one did not take; an interrupt stops it, too."""
        if not content:
            return
        reason = "the turn was interrupted"
        if status != "interrupted":
            params: TurnStartParams = {"threadId": self.thread["id"], "input": [*content]}
            try:
                self._send.send_nowait(
                    _Asked({"id": "", "method": "turn/start", "params": params})
                )
            except (anyio.WouldBlock, anyio.ClosedResourceError):
                reason = "the thread closes, or too many operations wait"
            else:
                return
        texts = "; ".join(repr(part["text"]) for part in content if part["type"] == "text")
        self._parts.recorder.warning(f"input was not taken: {texts}: {reason}; send it again")

    async def _warm_provider(self) -> None:
        """Let the provider prepare the first request; what goes wrong, that request will say."""
        provider = self._parts.provider
        with self._warming, contextlib.suppress(FerruleError), contained("the model provider"):
            prewarm = getattr(provider, "prewarm", None)
            if callable(prewarm):
                await anyio.to_thread.run_sync(prewarm)
            warm_up = getattr(provider, "warm_up", None)
            if callable(warm_up):
                request = next_request(self._parts, self._conversation, "")
                await cast("Callable[[ModelRequest], Awaitable[None]]", warm_up)(request)

    async def _prewarm(self, turn_id: str) -> None:
        """Let tools prepare their first call while the model thinks; not before it was asked."""
        with self._background:
            with anyio.move_on_after(_HEAD_START_S):
                await self._parts.call_began.wait()
            try:
                with contained("prewarm"):
                    context = CallContext(self._parts, turn_id, confined(self._parts, turn_id))
                    for tool in self._parts.tools.values():
                        await tool.prewarm(context)
            except FerruleError as error:  # such as a sandbox that cannot start
                self._parts.recorder.warning(str(error))

    def _open_turn(self, turn: TurnLoop) -> None:
        recorder = self._parts.recorder
        recorder.turn_started(turn.as_turn())
        settings = self._parts.settings
        note = change_note(self._last_context, settings)
        if note is not None:
            self._conversation.append(note)
        self._last_context = turn_context(settings)
        recorder.record("turn_context", {"turn_id": turn.turn_id, **self._last_context})

    async def _guarded(self, turn: TurnLoop, job: TurnLoopJob) -> tuple[str, TurnError] | None:
        """Run the turn; returns how it failed, if it did."""
        try:
            self._open_turn(turn)
            if job.refusal is not None:
                raise job.refusal
            if job.content is None:
                await turn.compact_only()
            else:
                await turn.run(job.content)
        except FAULTS as error:  # the session outlives whatever ends a turn
            return _failure(error)
        return None

    def _report_unstored(self, turn: TurnLoop, fault: Exception) -> None:
        """Tell that the end of a turn could not be written; nothing of it is acknowledged."""
        self._conversation.abort_unstored("aborted")
        error: TurnError = {
            "message": f"the end of the turn could not be stored: {fault}",
            "codexErrorInfo": "other",
        }
        self._parts.recorder.status({"type": "idle"})
        params = {"threadId": self.thread["id"], "turn": turn.as_turn("failed", error)}
        self._parts.recorder.queue.put(
            cast("Outgoing", {"method": "turn/completed", "params": params})
        )

    async def _notify(self, turn: TurnLoop, status: str) -> None:
        if status != "completed":
            return
        await self._parts.hooks.observe(
            "ferrule_notify",
            notification=Notification(
                "turn_complete",
                self.thread["id"],
                turn.turn_id,
                self._parts.settings.cwd,
                turn.input_texts,
                turn.last_message,
                source=self.thread["source"],
            ),
            context=self._parts.context,
        )

    def _steer(self, params: TurnSteerParams) -> str:
        turn = self._turn
        if turn is None or not turn.takes_input:
            raise FerruleError("no active turn to steer")
        if params.get("expectedTurnId") not in (None, turn.turn_id):
            raise FerruleError(f"turn {params.get('expectedTurnId')} is not the active one")
        turn.steer(params["input"])
        return turn.turn_id

    def _interrupt(self, turn_id: str) -> None:
        if self._turn is not None and turn_id in ("", self._turn.turn_id):
            self._was_interrupted = True
            self._turn.scope.cancel()

    def _roll_back(self, count: int) -> None:
        if self._turn is not None:
            raise FerruleError("cannot roll back while a turn runs; interrupt it first")
        if count < 1:
            raise FerruleError(f"cannot roll back {count} turns; give a number of 1 or more")
        if self._store is None:
            raise FerruleError("an ephemeral thread cannot be rolled back")
        self._parts.recorder.record("event_msg", {"type": "rollback", "num_turns": count})
        records = self._store.read(self.thread["id"])
        self._conversation.items = read_history(records)
        self._conversation.user_texts = read_user_texts(records)
        self._last_context = read_context(records)

    async def _shut_down(self) -> None:
        """End everything in the order that keeps the rollout whole."""
        self._is_closing = True
        self._background.cancel()
        self._warming.cancel()
        if self._turn is not None:
            self._turn.scope.cancel()
        await self._idle.wait()
        parts = self._parts
        reason = "interrupted" if self._was_interrupted else "closed"
        if parts.parent_thread_id is not None:
            await parts.hooks.observe(
                "ferrule_subagent_stop",
                context=parts.context,
                parent_thread_id=parts.parent_thread_id,
            )
        await parts.hooks.observe("ferrule_session_end", context=parts.context, reason=reason)
        for tool in parts.tools.values():
            await self._closing(tool.name, tool.aclose)
        await self._closing("the model provider", parts.provider.aclose)
        await self._closing("the sandbox", parts.close_plugins)
        with contextlib.suppress(FerruleError, OSError):  # told when the turn ended, if at all
            for item in parts.recorder.pending_items():
                parts.recorder.item_completed(ended_item(item, "failed", "ended with the session"))

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


class _Asked:
    """An operation in the queue, and whoever waits for it to be taken."""

    __slots__ = ("_error", "_taken", "op", "turn_id")

    def __init__(self, op: Op, taken: anyio.Event | None = None) -> None:
        self.op = op
        self.turn_id = ""
        self._taken = taken
        self._error: FerruleError | None = None

    def end(self, turn_id: str) -> None:
        """It was taken, and began or joined a turn."""
        self.turn_id = turn_id
        if self._taken is not None:
            self._taken.set()

    def fail(self, error: FerruleError) -> bool:
        """It was refused; returns whether anybody hears of it."""
        self._error = error
        if self._taken is not None:
            self._taken.set()
        return self._taken is not None

    async def answer(self) -> None:
        """Wait until it is taken; raises what refused it."""
        if self._taken is not None:
            await self._taken.wait()
        if self._error is not None:
            raise self._error


def _failure(error: BaseException) -> tuple[str, TurnError]:
    """Describe what ended a turn; looks through the groups that task groups raise."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    if isinstance(error, TurnCancelledError):
        told: TurnError = {"message": str(error)}
        if error.error_info:
            told["codexErrorInfo"] = error.error_info
        return "interrupted", told
    if isinstance(error, ProviderError):
        return "failed", {"message": str(error), "codexErrorInfo": error.kind}
    if isinstance(error, FerruleError):
        return "failed", {"message": str(error), "codexErrorInfo": "other"}
    text = f"internal error: {type(error).__name__}: {error}"
    return "failed", {"message": text, "codexErrorInfo": "other"}


class TurnLoopJob:
    """What a turn is started with: input, or None for a compaction; or why it cannot run."""

    __slots__ = ("content", "output_schema", "refusal")

    def __init__(
        self,
        content: Sequence[UserInput] | None,
        output_schema: Mapping[str, object] | None = None,
    ) -> None:
        self.content = content
        self.output_schema = output_schema
        self.refusal: ConfigError | None = None
