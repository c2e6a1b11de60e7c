"""The host's end of the pipe to one confined process: requests, and what it asks meanwhile.

The process runs a stranger's code, so that nothing it sends is believed: whatever is no message,
answers nothing or asks too much ends it, and the calls in flight fail in words.
"""

from __future__ import annotations

import signal
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

import anyio

from ferrule.call_limit import call_limit
from ferrule.isolation.codec import number, table, text
from ferrule.isolation.faults import fault_table, read_fault
from ferrule.isolation.frames import FrameError, FrameReader, encode
from ferrule_hookspecs.errors import FerruleError, PluginError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anyio.abc import TaskGroup

    from ferrule.isolation.desk import Desk, Scene
    from ferrule.isolation.frames import Message
    from ferrule_hookspecs.tools import Process

_GRACE_S: Final = 5.0
"""How long a cancelled call may take to end before its process is ended."""
_SENDING_S: Final = 30.0
_ENDING_S: Final = 2.0
_MOST_QUESTIONS: Final = 256
_LAST_WORDS: Final = 2_000


class Request(NamedTuple):
    """What is asked of the process.

    Attributes:
        tool: The tool it is asked of; empty for the process itself.
        verb: What it is to do.
        values: With what.
        scene: What it may use meanwhile; None for nothing.
        limit_s: How long it may take; None for as long as it wants.
    """

    tool: str
    verb: str
    values: Mapping[str, object]
    scene: Scene | None = None
    limit_s: float | None = None


class _Waiter:
    """Somebody who waits for an answer."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.answered = anyio.Event()
        self.value: object = None
        self.error: Exception | None = None

    def answer(self, value: object, error: Exception | None) -> None:
        self.value, self.error = value, error
        self.answered.set()


class Connection:
    """One running process."""

    def __init__(self, process: Process, desk: Desk) -> None:
        """Take over the process; `serve` must be running for anything to be answered."""
        self.fault = ""
        self.has_spoken = False
        self._process = process
        self._desk = desk
        self._waiting: dict[int, _Waiter] = {}
        self._questions: dict[int, tuple[object, anyio.CancelScope]] = {}
        self._last_id = 0
        self._last_words = b""
        self._sending = anyio.Lock()  # a message is never in the middle of another one
        self.ended = anyio.Event()

    async def request(self, request: Request) -> object:
        """Have the process do something.

        Raises:
            PluginError: It failed, did not answer in time, or the process ended.
            FerruleError: What a tool may raise.
        """
        self._last_id += 1
        key, waiter = self._last_id, _Waiter(request)
        self._waiting[key] = waiter
        if request.scene is not None:
            self._desk.admit(request.scene)
        message: Message = {"call": key, "do": request.verb, "tool": request.tool}
        try:
            await self._send({**message, "with": dict(request.values)})
            await _patiently(waiter.answered, request.limit_s)
        except TimeoutError:
            self.fail(f"it did not answer `{request.verb}` within {request.limit_s:g} s")
            raise self._failure() from None
        except anyio.get_cancelled_exc_class():
            await self._cancel(key, waiter)
            raise
        finally:
            self._waiting.pop(key, None)
            for during, scope in self._questions.values():
                if during == key:  # with the call ends what it was given
                    scope.cancel()
        if waiter.error is not None:
            raise waiter.error
        return waiter.value

    async def serve(self) -> None:
        """Read what the process sends until it ends; nothing of it is left afterwards."""
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self._hear)
                await self._read(group)
                group.cancel_scope.cancel()
        finally:
            with anyio.CancelScope(shield=True):
                await self._end()

    def fail(self, why: str) -> None:
        """End the process, which cannot be relied on any more."""
        self.fault = self.fault or why
        self._process.kill()

    async def close(self) -> None:
        """Let the process end by itself, for a moment."""
        self._process.close_input()
        try:
            with anyio.move_on_after(_ENDING_S):
                await self.ended.wait()
        finally:
            if not self.ended.is_set():
                self._process.kill()

    async def _send(self, message: Message) -> None:
        """Send a message whole, or end the process: half a one would garble all others."""
        data = encode(message)
        if self.ended.is_set() or self.fault:
            raise self._failure()
        try:
            with anyio.fail_after(_SENDING_S, shield=True):
                async with self._sending:
                    await self._process.write(data)
        except TimeoutError:
            self.fail("it takes nothing any more")
            raise self._failure() from None
        except BrokenPipeError:
            with anyio.move_on_after(_ENDING_S, shield=True):  # the reason comes with its end
                await self.ended.wait()
            raise self._failure() from None

    async def _cancel(self, key: int, waiter: _Waiter) -> None:
        with anyio.move_on_after(_GRACE_S, shield=True):
            try:
                await self._send({"cancel": key})
            except PluginError:
                return
            await waiter.answered.wait()
        if not waiter.answered.is_set():
            self.fail(f"it did not stop `{waiter.request.verb}` within {_GRACE_S:g} s")

    async def _read(self, group: TaskGroup) -> None:
        frames = FrameReader()
        try:
            while data := await self._process.read():
                for message in frames.feed(data):
                    self.has_spoken = True
                    self._take(message, group)
        except FrameError as error:
            self.fail(str(error))

    def _take(self, message: Message, group: TaskGroup) -> None:
        if "reply" in message:
            self._answer(message)
        elif "ask" in message:
            key = number(message["ask"])
            if len(self._questions) >= _MOST_QUESTIONS or key in self._questions:
                raise FrameError(f"it asks for more than {_MOST_QUESTIONS} things at once")
            scope = anyio.CancelScope()
            self._questions[key] = message.get("during"), scope
            group.start_soon(self._attend, key, scope, message)
        elif "forget" in message:
            found = self._questions.get(number(message["forget"]))
            if found is not None:
                found[1].cancel()
        elif "tell" in message:
            self._listen(message)
        else:
            raise FrameError("it sent what is no message")

    def _listen(self, message: Message) -> None:
        try:
            self._desk.hear(text(message["tell"]), table(message.get("with")))
        except FrameError:
            raise
        except Exception as error:  # noqa: BLE001 -- numbers no system call takes, whatever else
            raise FrameError(f"it told what cannot be: {error}") from None

    def _answer(self, message: Message) -> None:
        waiter = self._waiting.get(number(message["reply"]))
        if waiter is None or waiter.answered.is_set():
            return  # nobody waits any more
        error = None
        if "error" in message:
            error = read_fault(message["error"], waiter.request.tool or "its process")
        waiter.answer(message.get("value"), error)

    async def _attend(self, key: int, scope: anyio.CancelScope, message: Message) -> None:
        """Do what the process asks for, in the name of the call it asks for it."""
        reply: Message = {"reply": key, "value": None}
        with scope:
            try:
                waiter = self._waiting.get(number(message.get("during")))
                scene = None if waiter is None else waiter.request.scene
                verb, values = text(message.get("do")), table(message.get("with"))
                reply["value"] = await self._desk.answer(verb, values, scene)
                encode(reply)
            except Exception as error:  # noqa: BLE001 -- whatever fails is told to who asked
                reply = {"reply": key, "error": fault_table(error)}
        self._questions.pop(key, None)
        if scope.cancelled_caught:
            reply = {"reply": key, "error": {"kind": "fault", "text": "cancelled"}}
        try:
            await self._send(reply)
        except PluginError:
            return  # it has ended

    async def _hear(self) -> None:
        """Keep the end of what it prints, for whoever is told that it ended."""
        while data := await self._process.read_stderr():
            self._last_words = (self._last_words + data)[-_LAST_WORDS:]

    async def _end(self) -> None:
        self._process.kill()
        try:
            with anyio.move_on_after(_ENDING_S):
                code = await self._process.wait()
                self.fault = self.fault or _ending(code)
                while await self._process.read():
                    pass
                await self._hear()
        except (FerruleError, OSError) as error:  # such as a sandbox that was found broken
            self.fault = self.fault or str(error)
        finally:
            self.ended.set()
            for waiter in self._waiting.values():
                if not waiter.answered.is_set():
                    waiter.answer(None, self._failure())
            self._desk.close()

    def _failure(self) -> PluginError:
        lines = self._last_words.decode(errors="replace").strip().splitlines()
        said = f'; its last words: "{lines[-1][:300]}"' if lines else ""
        return PluginError(f"its process was ended: {self.fault or 'the session ends'}{said}")


async def _patiently(event: anyio.Event, limit_s: float | None) -> None:
    """Wait for an event, a time that a machine which stands still does not use up.

    Raises:
        TimeoutError: It did not come.
    """
    if limit_s is None:
        await event.wait()
        return
    with call_limit(limit_s):
        await event.wait()
    if not event.is_set():
        raise TimeoutError


def _ending(code: int) -> str:
    with suppress(ValueError):  # where no signal has that number, it is a code of its own
        return f"it was killed by {signal.Signals(code - 128).name}"
    return f"it ended by itself (exit code {code})"
