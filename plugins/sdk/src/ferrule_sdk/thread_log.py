"""What is known of one thread: fed by the connection, read through `Thread`."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from ferrule_sdk.turn_log import TurnLog

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ferrule_hookspecs.events import Event, TurnStarted
    from ferrule_hookspecs.threads import Thread as ThreadFacts
    from ferrule_hookspecs.threads import Turn as TurnFacts


class ThreadLog:
    """The thread as it was last opened, and the turns that run.

    Attributes:
        facts: The thread in wire form.
        model: The model it was opened with.
        cwd: Where it works.
    """

    def __init__(self, opened: Mapping[str, object]) -> None:
        self._turns: dict[str, TurnLog] = {}
        self.refresh(opened)

    def refresh(self, opened: Mapping[str, object]) -> None:
        """Take the thread as it is now, when it is opened once more."""
        self.facts = cast("ThreadFacts", opened["thread"])
        self.model = str(opened.get("model") or "")
        self.cwd = str(opened.get("cwd") or self.facts["cwd"])
        for turn in self.facts["turns"]:
            if turn["status"] == "inProgress":
                self.take(turn).has_begun.set()

    @property
    def running(self) -> TurnLog | None:
        """The turn that runs."""
        return next(reversed(self._turns.values()), None)

    def turn(self, turn_id: str) -> TurnLog | None:
        """Find a turn that runs."""
        return self._turns.get(turn_id)

    def take(self, turn: TurnFacts) -> TurnLog:
        """Follow a turn from now on."""
        return self._turns.setdefault(turn["id"], TurnLog(turn))

    def feed(self, event: Event) -> None:
        """Take an event of the thread."""
        params = cast("Mapping[str, object]", event["params"])
        if event["method"] == "turn/started":
            self.take(cast("TurnStarted", event)["params"]["turn"])
        turn = cast("Mapping[str, object]", params.get("turn") or {})
        log = self._turns.get(str(turn.get("id") or params.get("turnId")))
        if log is None:
            return
        log.feed(event)
        if log.has_ended.is_set():
            del self._turns[log.turn["id"]]

    def end(self, error: Exception) -> None:
        """Nothing more will be heard of it."""
        for log in self._turns.values():
            log.end(error)
        self._turns.clear()
