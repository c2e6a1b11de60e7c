"""Operations on a thread that need no turn: taking turns back, naming it, adding to its history."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from ferrule.session_view import take_files_back
from ferrule.transcript import read_context, read_history, read_turns, read_user_texts, well_formed
from ferrule_hookspecs.errors import FerruleError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ferrule.conversation import Conversation
    from ferrule.recorder import Recorder
    from ferrule.session_parts import SessionParts
    from ferrule_hookspecs.history import HistoryItem
    from ferrule_hookspecs.ops import RollbackParams
    from ferrule_hookspecs.store import ThreadStore
    from ferrule_hookspecs.threads import Thread


class ThreadEdits:
    """Changes one thread's history and name."""

    def __init__(
        self,
        thread: Thread,
        recorder: Recorder,
        conversation: Conversation,
        store: ThreadStore | None,
    ) -> None:
        self._thread = thread
        self._recorder = recorder
        self._conversation = conversation
        self._store = store

    async def roll_back(self, params: RollbackParams, parts: SessionParts) -> None:
        """Take the last turns out of the history; no turn may run.

        Files that are to be taken back come first, so that asking again completes what was cut off.
        """
        count = params["numTurns"]
        if count < 1:
            raise FerruleError(f"cannot roll back {count} turns; give a number of 1 or more")
        if self._store is None:
            raise FerruleError("an ephemeral thread cannot be rolled back")
        if params.get("files"):
            turns = read_turns(self._store.read(self._thread["id"]))
            await take_files_back(parts, [turn["id"] for turn in turns[-count:]])
        self._recorder.record("event_msg", {"type": "rollback", "num_turns": count})
        records = self._store.read(self._thread["id"])
        self._conversation.items = read_history(records)
        self._conversation.user_texts = read_user_texts(records)
        self._conversation.told = read_context(records)
        self._conversation.remember(records)

    def rename(self, name: str) -> None:
        """Give the thread a name to find it by."""
        name = name.strip()
        if not name:
            raise FerruleError("thread name must not be empty")
        self._recorder.record("event_msg", {"type": "thread_name", "name": name})
        self._thread["name"] = name
        self._recorder.emit(
            {
                "method": "thread/name/updated",
                "params": {"threadId": self._thread["id"], "threadName": name},
            }
        )


def injectable(items: Sequence[object]) -> list[HistoryItem]:
    """Check items that a client adds to the history.

    Raises:
        FerruleError: They are no items, or would leave a call without its output.
    """
    if not items:
        raise FerruleError("items must not be empty")
    for number, item in enumerate(items):
        if not isinstance(item, dict) or not isinstance(
            cast("dict[str, object]", item).get("type"), str
        ):
            raise FerruleError(f"items[{number}] is not a valid response item: it needs a `type`")
    given = cast("list[HistoryItem]", list(items))
    if well_formed(cast("list[dict[str, object]]", given)) != given:
        raise FerruleError("items must hold the output of every call, and the call of every output")
    return given
