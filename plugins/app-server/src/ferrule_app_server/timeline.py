"""What a client that joins late needs: the turns so far, the running one included.

Follows the events of a thread in the very order in which clients are told, so that a snapshot and
the events after it fit together without a gap or a double.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ferrule_hookspecs.items import ThreadItem
    from ferrule_hookspecs.threads import Turn

_OUTPUT_LIMIT: Final = 1024 * 1024
_PIECES: Final = 1024
_FIELDS: Final = {
    "item/agentMessage/delta": "text",
    "item/plan/delta": "text",
    "item/commandExecution/outputDelta": "aggregatedOutput",
    "item/reasoning/summaryTextDelta": "summary",
    "item/reasoning/textDelta": "content",
}


class Timeline:
    """The turns of one open thread, as far as clients were told."""

    def __init__(self, stored: int, *, is_ephemeral: bool) -> None:
        self._stored = stored
        self._is_ephemeral = is_ephemeral
        self._finished: list[Turn] = []
        self._last = ""
        self._turn: Turn | None = None
        self._items: dict[str, dict[str, Any]] = {}
        self._pieces: dict[tuple[str, str, int], list[str]] = {}

    @property
    def running(self) -> str | None:
        """Id of the running turn."""
        return None if self._turn is None else self._turn["id"]

    @property
    def is_untouched(self) -> bool:
        """Whether no turn has begun since the thread was opened."""
        return not self._last

    def take(self, method: str, params: Mapping[str, Any]) -> None:
        """Follow an event."""
        if method in _FIELDS:
            self._add(method, params)
        elif method in ("item/started", "item/completed"):
            self._put(params)
        elif method == "turn/started":
            self._turn = params["turn"]
            self._last = params["turn"]["id"]
            self._items, self._pieces = {}, {}
        elif method == "turn/completed":
            if self._is_ephemeral:
                self._finished.append(self._whole(params["turn"]))
            self._turn = None
            self._items, self._pieces = {}, {}

    def begin_with(self, turns: Sequence[Turn]) -> None:
        """An ephemeral thread begins with a copy of these."""
        self._finished = list(turns)

    def reset(self, stored: int) -> None:
        """The thread was taken back to so many turns."""
        self._stored = stored
        self._last = ""
        del self._finished[stored:]

    def turns(self, stored: Sequence[Turn]) -> list[Turn]:
        """Return all turns that clients were told of, oldest first.

        Args:
            stored: The turns that are stored; not asked for where nothing is.
        """
        running = [] if self._turn is None else [self._whole(self._turn)]
        if self._is_ephemeral:
            return [*self._finished, *running]
        told = self._told(stored)
        return [*(turn for turn in told if turn["id"] != self.running), *running]

    def _told(self, stored: Sequence[Turn]) -> Sequence[Turn]:
        if not self._last:
            return stored[: self._stored]
        ids = [turn["id"] for turn in stored]
        return stored[: ids.index(self._last) + 1] if self._last in ids else stored

    def _put(self, params: Mapping[str, Any]) -> None:
        item = params["item"]
        if params.get("turnId") == self.running:
            self._items[item["id"]] = item
            for key in [key for key in self._pieces if key[0] == item["id"]]:
                del self._pieces[key]
            return
        for turn in self._finished:  # a command that outlived its turn
            if turn["id"] == params.get("turnId"):
                turn["items"] = [item if old["id"] == item["id"] else old for old in turn["items"]]

    def _add(self, method: str, params: Mapping[str, Any]) -> None:
        if params["itemId"] in self._items:
            index = params.get("summaryIndex", params.get("contentIndex", 0))
            key = (params["itemId"], _FIELDS[method], index)
            pieces = self._pieces.setdefault(key, [])
            pieces.append(params["delta"])
            if len(pieces) >= _PIECES:
                text = "".join(pieces)
                # Of a command's endless output only the end is kept.
                pieces[:] = [text[-_OUTPUT_LIMIT:] if key[1] == "aggregatedOutput" else text]

    def _whole(self, turn: Turn) -> Turn:
        """Return a turn with all its items, the unfinished ones with their text so far."""
        items = {item_id: dict(item) for item_id, item in self._items.items()}
        for (item_id, field, index), pieces in self._pieces.items():
            item, text = items[item_id], "".join(pieces)
            if field in ("summary", "content"):
                parts = item[field] = list(item.get(field) or ())
                parts += [""] * (index + 1 - len(parts))
                parts[index] += text
            else:
                item[field] = (item.get(field) or "") + text
        return {
            **turn,
            "items": [cast("ThreadItem", item) for item in items.values()],
            "itemsView": "full",
        }
