"""Searches of the web that the provider runs by itself, as clients see them. Used by the reader."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from ferrule.ids import uuid7

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ferrule.recorder import Recorder
    from ferrule_hookspecs.items import WebSearchItem

WEB_SEARCH_CALL: Final = "web_search_call"


class WebSearches:
    """The searches of one stream."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._open: dict[str, WebSearchItem] = {}

    def begin(self, call: Mapping[str, object]) -> None:
        """Show a search that goes on; what is looked for may become known only with its end."""
        if isinstance(call.get("id"), str):
            self._start(_shown(call))

    def finish(self, call: Mapping[str, object]) -> None:
        """Show a search that is over; some servers announce none."""
        item = _shown(call)
        if item["id"] not in self._open:
            self._start(item)
        self._recorder.item_completed(item)
        del self._open[item["id"]]

    def withdraw(self) -> None:
        """Complete what never came to its end as it was shown."""
        for item in self._open.values():
            self._recorder.item_completed(item)
        self._open.clear()

    def _start(self, item: WebSearchItem) -> None:
        self._open[item["id"]] = item
        self._recorder.item_started(item)


def _shown(call: Mapping[str, object]) -> WebSearchItem:
    action = cast("dict[str, object]", call.get("action") or {})
    item_id = call.get("id")
    return {
        "type": "webSearch",
        "id": item_id if isinstance(item_id, str) else f"item_{uuid7()}",
        "query": _query(action),
        "action": action or None,
    }


def _query(action: Mapping[str, object]) -> str:
    """What is looked for: words, or the page that is read."""
    match action.get("type"):
        case "open_page":
            return str(action.get("url") or "")
        case "find_in_page":
            return f"'{action.get('pattern') or ''}' in {action.get('url') or ''}"
        case _:
            queries = action.get("queries")
            first = cast("list[object]", queries)[:1] if isinstance(queries, list) else []
            return str(action.get("query") or "".join(map(str, first)))
