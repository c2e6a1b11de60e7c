"""The confined process's end of the pipe: calls come in, questions go out.

A thread reads, so that a tool that blocks the event loop keeps nobody from noticing that the host
is gone, and so that what a tool asks at once (`files.check`) can be answered while it waits.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections import deque
from typing import TYPE_CHECKING, Final

import anyio

from ferrule.isolation.codec import number
from ferrule.isolation.faults import read_fault
from ferrule.isolation.frames import FrameReader, encode
from ferrule_hookspecs.errors import ToolError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ferrule.isolation.frames import Message

_READ_SIZE: Final = 256 * 1024
_AT_ONCE_S: Final = 300.0


class Question:
    """Something the host was asked."""

    def __init__(self) -> None:
        self.message: Message = {}
        self.answered = threading.Event()
        self.wake: Callable[[], object] = self.answered.set

    @property
    def value(self) -> object:
        """What the host answered; raises what it raised."""
        if "error" in self.message:
            raise read_fault(self.message["error"], "the host")
        return self.message.get("value")


class Pipe:
    """Speaks with the host."""

    def __init__(self, source: int, sink: int) -> None:
        """Take over two descriptors."""
        self._source = source
        self._sink = sink
        self._sending = threading.Lock()  # a message is never in the middle of another one
        self._questions: dict[int, Question] = {}
        self.unreachable: deque[int] = deque()
        """Handles of commands that the host may forget."""
        self._last_id = 0

    def listen(self, take: Callable[[Message], None]) -> None:
        """Begin to read; `take` is given what is no answer, in the event loop."""
        loop = asyncio.get_running_loop()

        def deliver(message: Message) -> None:
            loop.call_soon_threadsafe(take, message)

        threading.Thread(target=self._read, args=(deliver,), name="host", daemon=True).start()

    def send(self, message: Message) -> None:
        """Send a message.

        Raises:
            FrameError: It is too large.
        """
        body = encode(message)
        with self._sending:
            data = memoryview(body + self._farewells())
            while data:
                data = data[os.write(self._sink, data) :]

    def _farewells(self) -> bytes:
        told = b""
        while self.unreachable:
            values: Message = {"handle": self.unreachable.popleft()}
            told += encode({"tell": "process.forget", "with": values})
        return told

    def ask_at_once(self, verb: str, values: Mapping[str, object], during: int) -> object:
        """Ask the host, and wait for the answer without giving way."""
        question = self._ask(verb, values, during)[1]
        if not question.answered.wait(_AT_ONCE_S):
            raise ToolError(f"the host did not answer {verb!r}")
        return question.value

    async def ask(self, verb: str, values: Mapping[str, object], during: int) -> object:
        """Ask the host, and await the answer."""
        answered = anyio.Event()
        key, question = self._begin(verb, values, during, answered)
        try:
            await answered.wait()
        except anyio.get_cancelled_exc_class():
            self.send({"forget": key})
            raise
        return question.value

    def begin(self, verb: str, values: Mapping[str, object], answered: anyio.Event) -> Question:
        """Ask the host for what does not belong to a call; the event tells of the answer."""
        return self._begin(verb, values, 0, answered)[1]

    def _begin(
        self, verb: str, values: Mapping[str, object], during: int, answered: anyio.Event
    ) -> tuple[int, Question]:
        loop = asyncio.get_running_loop()
        return self._ask(verb, values, during, lambda: loop.call_soon_threadsafe(answered.set))

    def _ask(
        self,
        verb: str,
        values: Mapping[str, object],
        during: int,
        wake: Callable[[], object] | None = None,
    ) -> tuple[int, Question]:
        question = Question()
        question.wake = wake or question.wake
        with self._sending:
            self._last_id += 1
            key = self._last_id
        self._questions[key] = question
        self.send({"ask": key, "do": verb, "with": dict(values), "during": during})
        return key, question

    def _read(self, deliver: Callable[[Message], None]) -> None:
        """Read until the host is gone; then nothing of this process may go on."""
        frames = FrameReader()
        while data := os.read(self._source, _READ_SIZE):
            for message in frames.feed(data):
                if "reply" not in message:
                    deliver(message)
                    continue
                question = self._questions.pop(number(message["reply"]), None)
                if question is not None:
                    question.message = message
                    question.wake()
        os._exit(0)
