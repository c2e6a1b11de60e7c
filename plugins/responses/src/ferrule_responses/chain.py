"""What a server remembers of a connection, and so need not be sent again.

A connection holds its last response and everything that led to it. A request that goes on from
there names that response and sends only what is new; any other one is sent whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ferrule_hookspecs.history import HistoryItem

# The server does not hold these against the next request: one changes, the other is the addition.
_FREE_TO_CHANGE: Final = ("input", "client_metadata")
_TOOL_OUTPUTS: Final = ("function_call_output", "custom_tool_call_output", "tool_search_output")


class Chain:
    """The last response on one connection."""

    def __init__(self) -> None:
        """Begin with a server that remembers nothing."""
        self._response_id = ""
        self._settings: Mapping[str, object] = {}
        self._sent: Sequence[HistoryItem] = ()
        self._answered: Sequence[HistoryItem] = ()

    def forget(self) -> None:
        """Take note that the server remembers nothing any more."""
        self.__init__()

    def follow_up(self, fields: Mapping[str, object]) -> Mapping[str, object]:
        """Shorten a request to what the server does not remember; it stays whole where it must."""
        news = self._news(_input_of(fields)) if _settings_of(fields) == self._settings else []
        if not news:
            return fields
        return {**fields, "previous_response_id": self._response_id, "input": news}

    def extend(
        self, fields: Mapping[str, object], answered: Sequence[HistoryItem], response_id: str
    ) -> None:
        """Take note of a response that is complete, with the whole request it answers."""
        self._response_id = response_id
        self._settings = _settings_of(fields)
        self._sent = _input_of(fields)
        self._answered = answered

    def _news(self, items: Sequence[HistoryItem]) -> list[HistoryItem]:
        sent = len(self._sent)
        if not self._response_id or items[:sent] != self._sent:
            return []
        return _without(items[sent:], self._answered)


def _without(items: Iterable[HistoryItem], known: Sequence[HistoryItem]) -> list[HistoryItem]:
    """Leave out what is known, in its order; empty where the items do not go on from it.

    A tool's output may stand between known items: a call is run while the response goes on.
    """
    news: list[HistoryItem] = []
    found = 0
    for item in items:
        if found < len(known) and item == known[found]:
            found += 1
        elif found == len(known) or item["type"] in _TOOL_OUTPUTS:
            news.append(item)
        else:
            return []
    return news if found == len(known) else []


def _settings_of(fields: Mapping[str, object]) -> Mapping[str, object]:
    return {name: value for name, value in fields.items() if name not in _FREE_TO_CHANGE}


def _input_of(fields: Mapping[str, object]) -> Sequence[HistoryItem]:
    return cast("Sequence[HistoryItem]", fields["input"])
