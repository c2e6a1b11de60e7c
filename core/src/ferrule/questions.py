"""Questions a session puts to its client, and their answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, cast

import anyio

from ferrule_hookspecs.errors import FerruleError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ferrule.recorder import Recorder
    from ferrule_hookspecs.events import ServerRequest

Flag = Literal["waitingOnApproval", "waitingOnUserInput"]


class _Open:
    """A question that waits for its answer."""

    __slots__ = ("answer", "answered", "flag")

    def __init__(self, flag: Flag | None) -> None:
        self.flag: Flag | None = flag
        self.answered = anyio.Event()
        self.answer: Mapping[str, object] = {}


class Questions:
    """Open questions of one session, by number from 0."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._next = 0
        self._open: dict[int, _Open] = {}

    async def ask(self, request: ServerRequest) -> Mapping[str, object]:
        """Put a question to the client and await its answer; withdrawn when cancelled."""
        number = self._next
        self._next += 1
        # One that is passed on for another thread says nothing of how this one stands.
        thread_id = str(request["params"].get("threadId") or self._recorder.thread_id)
        is_own = thread_id == self._recorder.thread_id
        question = self._open[number] = _Open(_flag_of(request) if is_own else None)
        if question.flag is not None:
            self._tell_status()
        self._recorder.ask(cast("ServerRequest", {**request, "id": number}))
        try:
            await question.answered.wait()
        finally:
            del self._open[number]
            # A tool that the client runs itself is told apart only where it is withdrawn.
            if _flag_of(request) is not None or not question.answered.is_set():
                self._recorder.emit(
                    {
                        "method": "serverRequest/resolved",
                        "params": {"threadId": thread_id, "requestId": number},
                    }
                )
            if question.flag is not None:
                self._tell_status()
        return question.answer

    def answer(self, number: int, result: Mapping[str, object]) -> None:
        """Take a client's answer; the first one counts.

        Raises:
            FerruleError: No such question is open.
        """
        question = self._open.get(number)
        if question is None or question.answered.is_set():
            raise FerruleError(f"question {number} is not open (any more)")
        question.answer = result
        question.answered.set()

    def _tell_status(self) -> None:
        flags: set[Flag] = {each.flag for each in self._open.values() if each.flag is not None}
        self._recorder.status({"type": "active", "activeFlags": sorted(flags)})


def _flag_of(request: ServerRequest) -> Flag | None:
    """What the thread waits on while a question is open; None where it goes on by itself."""
    match request["method"]:
        case "item/tool/call":
            return None
        case "item/tool/requestUserInput":
            return "waitingOnUserInput"
        case "mcpServer/elicitation/request":
            meta = request["params"].get("_meta") or {}
            is_approval = meta.get("codex_approval_kind") is not None
            return "waitingOnApproval" if is_approval else "waitingOnUserInput"
        case _:
            return "waitingOnApproval"
