"""Reads a Codex rollout line by line, whatever its age, with bounded memory.

Three forms exist. Today every line is a record with a type and a payload. The first versions wrote
a line of metadata and then bare items. In between lies the present form without ordinals. All come
out as records; lines that are none are counted.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, BinaryIO, Final, NamedTuple, cast

if TYPE_CHECKING:
    from collections.abc import Iterator

Payload = dict[str, object]

_LONGEST_LINE: Final = 64 << 20
_BARE_TYPES: Final = frozenset(
    {
        "message",
        "reasoning",
        "function_call",
        "function_call_output",
        "custom_tool_call",
        "custom_tool_call_output",
        "local_shell_call",
        "web_search_call",
    }
)
_MOST_NAMED: Final = 20


class Line(NamedTuple):
    """A record as Codex wrote it."""

    timestamp: str
    ordinal: int
    type: str
    payload: Payload


@dataclass(slots=True)
class Damage:
    """Lines that hold no record."""

    numbers: list[int] = field(default_factory=list[int])
    count: int = 0

    def note(self, number: int) -> None:
        """Count a line; the first ones are named."""
        self.count += 1
        if len(self.numbers) < _MOST_NAMED:
            self.numbers.append(number)


def read_lines(stream: BinaryIO, damage: Damage) -> Iterator[Line]:
    """Yield the records of an open file."""
    number = 0
    stamp = ""
    while data := stream.readline(_LONGEST_LINE):
        number += 1
        if not data.endswith(b"\n") and len(data) == _LONGEST_LINE:
            _skip_rest(stream)
            damage.note(number)
            continue
        data = data.strip(b"\0\r\n\t ")
        if not data:
            continue
        line = _record(data, number - 1, stamp)
        if line is None:
            damage.note(number)
        elif line.type:
            stamp = line.timestamp
            yield line


def _skip_rest(stream: BinaryIO) -> None:
    while (data := stream.readline(_LONGEST_LINE)) and not data.endswith(b"\n"):
        pass


def _record(data: bytes, ordinal: int, stamp: str) -> Line | None:
    """Return the record in a line; one without a type means nothing and is passed over."""
    try:
        value: object = json.loads(data)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    table = cast("Payload", value)
    type_, payload = table.get("type"), table.get("payload")
    own_ordinal, own_stamp = table.get("ordinal"), table.get("timestamp")
    if isinstance(own_ordinal, int) and not isinstance(own_ordinal, bool):
        ordinal = own_ordinal
    if isinstance(own_stamp, str):
        stamp = own_stamp
    if isinstance(type_, str) and isinstance(payload, dict):
        return Line(stamp, ordinal, type_, cast("Payload", payload))
    if isinstance(type_, str) and type_ in _BARE_TYPES:
        return Line(stamp, ordinal, "response_item", table)
    if isinstance(table.get("id"), str) and "timestamp" in table and type_ is None:
        return Line(stamp, ordinal, "session_meta", table)
    if "record_type" in table:
        return Line(stamp, ordinal, "", {})
    return None
