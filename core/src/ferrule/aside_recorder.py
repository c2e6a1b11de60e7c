"""Records what happens beside a thread's own history, such as a review in one of its turns.

Items, usage and the end of the turn belong to the thread and go where its own go; the model's side
is kept in the rollout, but is none of the thread's history.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from ferrule.recorder import Recorder

if TYPE_CHECKING:
    from ferrule_hookspecs.events import Event, ItemCompleted
    from ferrule_hookspecs.store import RecordType
    from ferrule_hookspecs.threads import Turn

_MODELS_SIDE: Final = ("response_item", "compacted", "turn_context")
_MODELS_FACTS: Final = ("ledger", "tools_found")
"""Events that a history is read together with."""


class AsideRecorder(Recorder):
    """Records one turn whose model does not speak to the user.

    What the model says before it goes on working is shown; its last word is left to whoever reads
    it. Made when the turn is; `begin` once that has begun.
    """

    def __init__(self, of: Recorder) -> None:
        super().__init__(of.thread_id, None, of.queue)
        self._of = of
        self._open_items = of._open_items
        self._pending = of._pending
        self._silent: set[str] = set()
        self._said: ItemCompleted | None = None

    def begin(self) -> None:
        """Belong to the running turn."""
        self.turn_id = self.running = self._of.turn_id

    def record(self, type_: RecordType, payload: dict[str, object]) -> None:
        """Store one record; what would be read as the thread's history in another form."""
        if type_ in _MODELS_SIDE or payload.get("type") in _MODELS_FACTS:
            aside = {"turn_id": self.turn_id, "record": type_, "payload": payload}
            self._of.record("event_msg", {"type": "aside", **aside})
        elif type_ == "token_usage_record":  # paid for by the thread, but no measure of its context
            self._of.record(type_, {**payload, "aside": True})
        else:
            self._of.record(type_, payload)

    def emit(self, event: Event) -> None:
        """Tell something, but keep back what the model said until it goes on."""
        if event["method"] == "item/started":
            self._show()
            if event["params"]["item"]["type"] == "agentMessage":
                self._silent.add(event["params"]["item"]["id"])
                return
        elif (
            event["method"] == "item/completed"
            and event["params"]["item"]["type"] == "agentMessage"
        ):
            self._said = event
            return
        super().emit(event)

    def delta(self, method: str, item_id: str, delta: str, index: int | None = None) -> None:
        """Tell a delta, unless its item is kept back."""
        if item_id not in self._silent:
            super().delta(method, item_id, delta, index)

    async def turn_completed(self, turn: Turn, last_message: str | None) -> None:
        """Tell how the turn ended."""
        self.running = ""
        await self._of.turn_completed(turn, last_message)

    def _show(self) -> None:
        """Show what the model said, now that it is not its last word."""
        said, self._said = self._said, None
        if said is None or said["params"]["item"].get("text") == "":
            return
        params = {**said["params"], "startedAtMs": said["params"]["completedAtMs"]}
        del params["completedAtMs"]
        super().emit(cast("Event", {"method": "item/started", "params": params}))
        super().emit(said)
