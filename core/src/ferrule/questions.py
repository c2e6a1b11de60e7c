"""Questions a session puts to its client, and their answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import anyio

from ferrule_hookspecs.errors import FerruleError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ferrule.recorder import Recorder
    from ferrule_hookspecs.events import ServerRequest


class Questions:
    """Open questions of one session, by number from 0."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._next = 0
        self._waiting: dict[int, tuple[anyio.Event, list[Mapping[str, object]]]] = {}

    async def ask(self, request: ServerRequest) -> Mapping[str, object]:
        """Put a question to the client and await its answer; withdrawn when cancelled."""
        number = self._next
        self._next += 1
        event: anyio.Event = anyio.Event()
        answers: list[Mapping[str, object]] = []
        self._waiting[number] = (event, answers)
        thread_id = self._recorder.thread_id
        self._recorder.status({"type": "active", "activeFlags": ["waitingOnApproval"]})
        self._recorder.ask(cast("ServerRequest", {**request, "id": number}))
        try:
            await event.wait()
        finally:
            del self._waiting[number]
            self._recorder.emit(
                {
                    "method": "serverRequest/resolved",
                    "params": {"threadId": thread_id, "requestId": number},
                }
            )
            still = self._waiting
            self._recorder.status(
                {"type": "active", "activeFlags": ["waitingOnApproval"] if still else []}
            )
        return answers[0]

    def answer(self, number: int, result: Mapping[str, object]) -> None:
        """Take a client's answer; the first one counts.

        Raises:
            FerruleError: No such question is open.
        """
        waiting = self._waiting.get(number)
        if waiting is None:
            raise FerruleError(f"question {number} is not open (any more)")
        event, answers = waiting
        answers.append(result)
        event.set()
